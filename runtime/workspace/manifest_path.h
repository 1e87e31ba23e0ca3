/* What may stand in a manifest as a path, before anything is known about any file tree. */
#ifndef WORKSPACE_MANIFEST_PATH_H
#define WORKSPACE_MANIFEST_PATH_H

#include <stdbool.h>
#include <sys/types.h>

/* What is wrong, as a stable word for programs and as text for people. */
struct manifest_fault {
	const char *reason; /* NULL: the path is fine */
	const char *text;
};

/* Of a place in the workspace: relative, of whole names, nothing upward. */
struct manifest_fault manifest_destination_fault(const char *path);
/* Of a directory in a repository; "" and "." are its root. */
struct manifest_fault manifest_subpath_fault(const char *path);
/* The root of a repository is meant. */
bool manifest_subpath_is_root(const char *path);
/* Of a source on the host, as written: whether it is admitted is decided when it is opened. */
struct manifest_fault manifest_source_fault(const char *path);
/* Of the name of a branch, tag or commit. */
struct manifest_fault manifest_ref_fault(const char *ref);
/* "0644": four octal digits, the first of which is 0. False for every other text. */
bool manifest_mode_parse(const char *text, mode_t *ret_mode);

#endif
