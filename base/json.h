/*
 * Thin over jansson: JSON with comments and trailing commas, the position of every value, and safe building.
 * json_t of jansson is used as it is; free with json_decref or cleanup_json.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "base/error.h"

static inline void cleanup_json_ptr(json_t **json)
{
	json_decref(*json);
}
#define cleanup_json __attribute__((cleanup(cleanup_json_ptr)))

/* Where each key and value of a document stands. */
struct json_places;
struct json_place {
	unsigned line, column; /* from 1; columns count characters */
};

/* Parses text (bytes of `size`; a NUL inside, a duplicate key, \u0000, nesting beyond 64, invalid UTF-8 are errors).
 * Mistakes go to diag as "LABEL:LINE:COL: ..."; returns 0 with *ret_json and *ret_places, or -1 (diag has the reason). */
must_check int json_parse_places(const char *text, size_t size, const char *label, json_t **ret_json,
	struct json_places **ret_places, struct diag *diag);
/* The same, but goes on over duplicate keys: they are in diag as errors, the last one of each counts. For callers that
 * check the content too, to tell all mistakes at once, and then diag_check. */
must_check int json_parse_places_duplicates(const char *text, size_t size, const char *label, json_t **ret_json,
	struct json_places **ret_places, struct diag *diag);
/* What came with the program: without places, and without the comments that other documents may have. */
must_check int json_parse_own(const char *text, size_t size, const char *label, json_t **ret_json, struct diag *diag);
/* The place of the value at a JSON pointer ("/limits/memory", "/filesystem/read/0"; ~0 and ~1 as in RFC 6901);
 * of its key where it is an object member. {0, 0} where unknown, and where places is NULL. */
struct json_place json_places_find(const struct json_places *places, const char *pointer);
struct json_places *json_places_free(struct json_places *places);
CLEANUP_DEFINE(struct json_places, json_places_free)

/* Sets object[key] = value, taking the reference of value; value == NULL means memory ran out: returns -1. */
int json_put(json_t *object, const char *key, json_t *value);
/* A JSON string of bytes that may not be UTF-8: invalid bytes become U+FFFD. s == NULL gives null. */
json_t *json_text(const char *s);
/* A non-negative integer, clamped to INT64_MAX. */
json_t *json_u64(unsigned long long value);
/* Serializes (two spaces, key order kept, a newline at the end where pretty); malloc'ed; NULL when memory is out. */
char *json_to_string(const json_t *json, int pretty);
/* Compact, with sorted keys: the same bytes for the same content, for digests. malloc'ed; NULL when memory is out. */
char *json_to_canonical(const json_t *json);
/* Appends json_text(s) as JSON text, without making it where s needs no escaping. */
void json_append_text(struct buf *buf, const char *s);

#endif
