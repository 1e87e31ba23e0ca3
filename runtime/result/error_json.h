/* The pinfold.error/1 object. */
#ifndef RESULT_ERROR_JSON_H
#define RESULT_ERROR_JSON_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

/* A new reference; NULL when memory is out. "details" is there only where n_details is not 0. */
json_t *error_json(const struct error *error, const char *const *details, size_t n_details);

#endif
