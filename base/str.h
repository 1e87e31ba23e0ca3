/* Text forms of the command line and of policies: sizes, times, numbers, name patterns, "did you mean". */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

bool str_equal(const char *a, const char *b); /* both may be NULL */
bool str_starts_with(const char *s, const char *prefix);
/* Decimal digits only, no sign, no space, in [min, max]. err says what is wrong, without a prefix. */
must_check int str_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value, struct error *err);
/* "500ms", "30s", "5m", "1h", "1.5s", "2" (seconds); at least 1 ns, at most INT64_MAX ns; 0 is an error. */
must_check int str_parse_time(const char *s, uint64_t *ret_ns, struct error *err);
/* "123", "64K", "1M", "2G", "1T", "64Ki", "1.5G", an optional B at the end, in either case; K = 1024; 0 is allowed, at
 * most INT64_MAX. */
must_check int str_parse_size(const char *s, uint64_t *ret_bytes, struct error *err);
/* "1.5" -> 1500; at least 1 milli, at most 1000000000. */
must_check int str_parse_milli(const char *s, uint64_t *ret_milli, struct error *err);
/* Exact, in the largest unit (of times: seconds) that keeps it whole: "512M", "60s", "1500ms", "0.5ms". size >= 32. */
const char *str_format_size(uint64_t bytes, char *buf, size_t size);
const char *str_format_time(uint64_t ns, char *buf, size_t size);
/* `pattern` may contain '*' (any run of characters); compares the whole of `name`. */
bool str_match(const char *pattern, const char *name);
/* The nearest of `words` (NULL-terminated) by edit distance (transpositions count one), NULL where none is near. */
const char *str_nearest(const char *word, const char *const *words);
/* The length of the longest prefix of data that ends at a whole UTF-8 character. */
size_t str_utf8_floor(const char *data, size_t size);
/* Bytes to skip at the start so that the rest begins at a character. */
size_t str_utf8_ceil(const char *data, size_t size);
bool str_utf8_valid(const void *data, size_t size);
/* The length of the whole, valid character that data begins with; 0 where it begins with none. */
size_t str_utf8_char(const char *data, size_t size);
/* For messages: control and bidirectional characters, quotes, backslashes and invalid bytes as \xNN; cut with "..." at
 * size. s == NULL gives "". Returns buf. */
const char *str_printable(const char *s, char *buf, size_t size);

#endif
