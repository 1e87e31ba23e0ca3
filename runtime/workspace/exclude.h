/* Patterns of what a copy leaves out, as in a .gitignore without negation. */
#ifndef WORKSPACE_EXCLUDE_H
#define WORKSPACE_EXCLUDE_H

#include <stdbool.h>

#include "base/error.h"

/*
 * '*' is any run of characters, '?' one, "[a-z]" and "[!a-z]" one of a set, '\' takes the next character as it is; none
 * of them matches a slash. A pattern without a slash is about names at any depth. One with a slash is about paths from
 * the root of the copy; its component "**" is any number of directories. A slash at the end: directories only.
 */

/* -1 with ERROR_SANDBOX_CONFIG_INVALID for what can match nothing: "", "..", an open "[", ... */
must_check int exclude_check(const char *pattern, struct error *err);
/* path: relative, without "." and "..". Takes a time of pattern times path at most. */
bool exclude_matches(const char *pattern, const char *path, bool is_directory);

#endif
