/* The parsers of single kinds, shared by the files value_*.c. All as policy_value_from_text. */
#ifndef POLICY_VALUE_TAKE_H
#define POLICY_VALUE_TAKE_H

#include "runtime/policy/path_rule.h"
#include "runtime/policy/value.h"

#define POLICY_HOSTNAME_MAX 64           /* of sethostname(2) */
#define POLICY_VARIABLE_MAX (128 * 1024) /* "NAME=VALUE" with the NUL: the kernel's MAX_ARG_STRLEN */

#define POLICY_TAKE(name)                                                                                           \
	bool policy_take_##name(struct policy_reading *reading, const struct policy_field *field, const char *text, \
		struct policy_item *item)

POLICY_TAKE(time);
POLICY_TAKE(size);
POLICY_TAKE(count);
POLICY_TAKE(milli);
POLICY_TAKE(paths);
POLICY_TAKE(pattern);
POLICY_TAKE(syscall);
POLICY_TAKE(requirement);
POLICY_TAKE(bind);
POLICY_TAKE(tmpfs);
POLICY_TAKE(variable);

/* Checks and tidies; the path is the arena's. */
bool policy_take_path(struct policy_reading *reading, const char *path, enum policy_path_use use, const char **ret_path);
/* The index in words, or -1. */
int policy_word_index(const char *const *words, const char *text);
#define POLICY_ERRNO_MAX 133
/* The names of the errors 1 to POLICY_ERRNO_MAX; "E?" where a number has none. */
void policy_errno_names(const char *names[POLICY_ERRNO_MAX + 1]);
bool policy_value_in_range(struct policy_reading *reading, const struct policy_field *field, uint64_t number);
/* json is a number; its unit is bytes, seconds, processors, or one. */
bool policy_value_from_number(
	struct policy_reading *reading, const struct policy_field *field, const json_t *json, struct policy_item *item);
const char *policy_number_text(enum policy_kind kind, uint64_t number, char *buf, size_t size);

#endif
