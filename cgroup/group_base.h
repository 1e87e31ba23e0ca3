/* The directory below which groups are made, opened and made sure of. */
#ifndef CGROUP_GROUP_BASE_H
#define CGROUP_GROUP_BASE_H

#include <stddef.h>

#include "base/error.h"

/* The directory at `path` (absolute, no symlink on the way), where it is really one of a cgroup version 2 mount. */
must_check int group_base_open(const char *path, struct error *err);
/* For root: that the directory at `path` and all above it in the file system are root's own. */
must_check int group_base_trust(const char *path, struct error *err);
/* mkdirat of a group below it, whatever the caller's umask is: 0, or -1 with errno. */
int group_base_mkdir(int fd, const char *name);
/* The directory that the caller names in $PINFOLD_CGROUP. 0 where it names none; 1; -1 where it is none that can be used. */
must_check int group_base_named(char *ret_path, size_t size, struct error *err);
/* This process's own cgroup v2 directory by the path of a mount that shows it, "" where there is none. Reads
 * /proc/self/mountinfo and cgroup. */
must_check int group_base_own(char *ret_path, size_t size, struct error *err);
/* Where groups are without any being asked for: named, else the own one, else, where this process has moved itself out
 * of the way (place.h), the one above it. */
must_check int group_base_find(char *ret_path, size_t size, struct error *err);
/* The code for the errno of a file operation there. */
enum error_code group_error_code(int sys_errno);

#endif
