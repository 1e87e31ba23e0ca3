/* The directory below which groups are made, opened and made sure of. */
#ifndef CGROUP_GROUP_BASE_H
#define CGROUP_GROUP_BASE_H

#include "base/error.h"

/* The directory at `path` (absolute, no symlink on the way), where it is really one of a cgroup version 2 mount. */
must_check int group_base_open(const char *path, struct error *err);
/* The code for the errno of a file operation there. */
enum error_code group_error_code(int sys_errno);

#endif
