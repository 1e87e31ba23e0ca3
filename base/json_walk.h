/* The first pass over a JSON text: finds every mistake jansson would stop at, and where each key and value stands. */
#ifndef BASE_JSON_WALK_H
#define BASE_JSON_WALK_H

#include "base/json.h"

#define JSON_DEPTH_MAX 64

/* `text` is changed in place: comments, trailing commas and a byte order mark become blanks, so that what remains is
 * plain JSON with every byte where it was. 0, or -1 with the mistakes in diag; duplicate keys are told there too, but
 * are no reason to fail: the last one of each counts. */
int json_walk(char *text, size_t size, const char *label, struct json_places **ret_places, struct diag *diag);
/* The place of the byte at `offset`. */
struct json_place json_walk_place(const char *text, size_t offset);

#endif
