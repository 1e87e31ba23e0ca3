/* Where the keys and values of one document stand, while they are being collected. */
#ifndef BASE_JSON_PLACES_H
#define BASE_JSON_PLACES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

#define JSON_PLACES_ROOT 0u

/* NULL when memory is out. The root (id 0) is there from the start. */
struct json_places *json_places_new(void);
void json_places_set_root(struct json_places *places, struct json_place place);
/* Keys are gathered byte by byte in this buffer; json_places_add takes what came since the last one. */
struct buf *json_places_key(struct json_places *places);
/* Adds the member or element whose key was gathered. Returns its id. */
uint32_t json_places_add(struct json_places *places, uint32_t parent, struct json_place place);
/* Sorts for json_places_find. Duplicate keys are told in diag, in the order of the text. 0, or -1 when memory ran out
 * on the way. */
int json_places_close(struct json_places *places, const char *label, struct diag *diag);

#endif
