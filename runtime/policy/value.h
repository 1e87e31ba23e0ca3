/*
 * One value of a field: from the text form of flags, from JSON, and back.
 *
 *   kind           text                second           number              flag
 *   WORD           the word                             index in words
 *   BOOL                                                0 or 1
 *   ROOT           the path of a       -                enum policy_root
 *                  directory, or NULL
 *   TIME SIZE COUNT MILLI                               the value; LIMIT_NONE
 *   ERRNO          its name                             the errno
 *   HOSTNAME PROFILE PATHS PATTERNS SYSCALLS: the text
 *   REQUIREMENTS   feature             mechanism or NULL
 *   BINDS          target              source                               writable
 *   TMPFS          path                                 bytes; LIMIT_NONE
 *   VARIABLES      name                value
 */
#ifndef POLICY_VALUE_H
#define POLICY_VALUE_H

#include <jansson.h>

#include "runtime/policy/settings.h"

/* What reading a value needs and leaves behind. */
struct policy_reading {
	struct arena *arena;   /* of the texts of items */
	const char *directory; /* a profile's file is relative to it; NULL: the current directory */
	char why[360];         /* what is wrong, where false was returned */
};

/* All write *ret_item (except for its origin) on success, and reading->why where they return false. */
bool policy_value_from_text(struct policy_reading *reading, const struct policy_field *field, const char *text,
	struct policy_item *ret_item);
/* For all kinds but BINDS, TMPFS and VARIABLES, whose entries are objects: see layer_entries.c. */
bool policy_value_from_json(struct policy_reading *reading, const struct policy_field *field, const json_t *json,
	struct policy_item *ret_item);
/* The pieces of those. */
bool policy_value_bind(struct policy_reading *reading, const char *source, const char *target, bool write,
	struct policy_item *ret_item);
bool policy_value_tmpfs(
	struct policy_reading *reading, const char *path, uint64_t size_bytes, struct policy_item *ret_item);
bool policy_value_variable(
	struct policy_reading *reading, const char *name, const char *value, struct policy_item *ret_item);

/* NULL when memory is out. A variable gives its value alone. */
json_t *policy_value_to_json(const struct policy_field *field, const struct policy_item *item);
/* For people: "512M", "none", "/a -> /b (read-only)", "CI=1". */
void policy_value_to_text(const struct policy_field *field, const struct policy_item *item, struct buf *buf);

/* Sets why; returns false. */
bool policy_reading_refuse(struct policy_reading *reading, const char *fmt, ...) printf_like(2, 3);
/* Refuses `word`, naming the nearest of `words`; what: "a backend". */
bool policy_reading_refuse_word(
	struct policy_reading *reading, const char *word, const char *what, const char *const *words);

#endif
