/* What may stand in a policy as a path, before anything is known about the file tree. */
#ifndef POLICY_PATH_RULE_H
#define POLICY_PATH_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum policy_path_use {
	PATH_READ,
	PATH_WRITE,
	PATH_DENY,
	PATH_PROTECT,
	PATH_BIND_SOURCE,
	PATH_BIND_TARGET,
	PATH_TMPFS,
	_PATH_USE_COUNT
};

/* What of the rules a regular expression (of ECMA-262) can say: a path matches `is`, and does not match `is_not` (NULL:
 * there is none). It sees through no "..". */
struct policy_path_form {
	const char *is, *is_not;
};
extern const struct policy_path_form policy_path_forms[_PATH_USE_COUNT];
/* An absolute path that is not the root itself. */
extern const struct policy_path_form policy_root_form;

/* Under every home: the caller's, /root and /home/NAME. */
#define POLICY_EVERY_HOME "~*/"

/* NULL where the path is fine; else what is wrong with it. */
const char *policy_path_fault(const char *path, enum policy_path_use use);
/* Without "." components and doubled slashes; ".." is kept, for only the file tree knows what it means. NULL when
 * memory is out. "~" becomes "~/". */
char *policy_path_tidy(struct arena *arena, const char *path);
/* Both tidy, without "..". True where `path` lies below `above` (not where they are the same). */
bool policy_path_is_below(const char *path, const char *above);
bool policy_path_has_parent_steps(const char *path);
bool policy_path_has_glob(const char *path);

#endif
