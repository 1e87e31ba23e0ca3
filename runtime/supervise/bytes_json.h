/* Bytes of a command in JSON: as text where they are UTF-8, else in base64. */
#ifndef SUPERVISE_BYTES_JSON_H
#define SUPERVISE_BYTES_JSON_H

#include <stddef.h>

#include "base/json.h"

/* Sets object["encoding"] and object["data"]. 0, or -1 when memory is out. */
must_check int bytes_json_put(json_t *object, const void *data, size_t size);

#endif
