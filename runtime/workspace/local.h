/*
 * Copying files and directories of this machine into a workspace.
 *
 * Sources and their trees may be changed while they are read: nothing is followed, and nothing but regular files and
 * directories is ever opened. Errors are ERROR_LOCAL_FILE_READ or ERROR_LOCAL_DIR_READ for what is wrong with the
 * source, with context.reason "symlink_not_supported", "special_file", "outside_base_dir" or "path_changed_during_copy"
 * where it is one of these; ERROR_IO for the target; and those of struct work. What an error leaves in the target is
 * for the caller to remove (tree_remove).
 */
#ifndef WORKSPACE_LOCAL_H
#define WORKSPACE_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "runtime/workspace/work.h"

struct local_options {
	const char *const *exclude; /* patterns, see exclude.h; what one matches is not even looked at */
	size_t n_exclude;
	mode_t file_mode;  /* 0: 0755 where the owner of the source may execute it, else 0644 */
	bool links_inside; /* symlinks of which link_stays_inside() is true are made anew; else none is admitted */
	struct work *work;
};

struct local_totals { /* added to */
	uint64_t files;
	uint64_t links;
	uint64_t directories; /* below the root */
	uint64_t bytes;       /* the lengths of the files, holes included */
};

/* Copies the regular file base_fd/src (relative, no ".."; all descriptors are borrowed) to a new file target_dirfd/name. */
must_check int local_copy_file(int base_fd, const char *src, int target_dirfd, const char *name,
	const struct local_options *options, struct local_totals *totals, struct error *err);
/* Opens the directory base_fd/src in the same way; "." is base_fd itself. Returns the fd. */
must_check int local_open_dir(int base_fd, const char *src, struct error *err);
/* Copies what is in source_dirfd to the empty directory target_dirfd. Hard links become files of their own, directories
 * have mode 0755. A path below
 * the root that is longer than PATH_MAX is ERROR_LIMIT. Errors name the path below the root. */
must_check int local_copy_dir(int source_dirfd, int target_dirfd, const struct local_options *options,
	struct local_totals *totals, struct error *err);

#endif
