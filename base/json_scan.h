/* A cursor over a JSON text with comments: the words of the grammar, with places. Used by json_walk alone. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

#define JSON_SCAN_END (-1)

struct json_scan {
	char *text; /* comments become blanks as they are passed */
	size_t size;
	size_t at;
	unsigned line, column;
	const char *label;
	struct diag *diag;
	struct buf *key; /* while a string is read: gathers its decoded bytes, or NULL */
	bool flawed;     /* a mistake after which the scan can go on */
};

/* The byte at the cursor, or JSON_SCAN_END. */
int json_scan_peek(const struct json_scan *scan);
void json_scan_step(struct json_scan *scan);
struct json_place json_scan_here(const struct json_scan *scan);
/* All below return false with the mistake in diag. */
bool json_scan_refuse(struct json_scan *scan, struct json_place place, const char *fmt, ...) printf_like(3, 4);
/* "expected X, found Y" at the cursor. */
bool json_scan_expect(struct json_scan *scan, const char *expected);
/* Over blanks and comments. */
bool json_scan_space(struct json_scan *scan);
/* At the opening quote; `key` receives the decoded bytes where it is not NULL. */
bool json_scan_string(struct json_scan *scan, struct buf *key);
/* true, false, null or a number. */
bool json_scan_literal(struct json_scan *scan);

#endif
