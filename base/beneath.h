/* Opening a path below a directory without following any symlink: openat2 where the kernel has it, else a walk. */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

/* flags as openat(2), O_CLOEXEC is added. `path` may begin with '/', taken as "below dirfd"; ".." and magic links are
 * refused; "" and "/" open dirfd itself. Mount points are crossed. Returns an fd or -1 with errno (ELOOP for a symlink,
 * EXDEV for "..", ENOENT, ...). O_PATH | O_NOFOLLOW opens a symlink at the end itself, as openat does. What is opened
 * may be a FIFO or a device: without O_NONBLOCK or O_PATH that can block. Async-signal-safe, no allocation. */
int beneath_open(int dirfd, const char *path, int flags, mode_t mode);
/* The same by the walk alone, for hosts without openat2 and for tests. */
int beneath_open_walk(int dirfd, const char *path, int flags, mode_t mode);
/* Opens the directory that holds the last component (same rules) and points *ret_name at that component in `path`.
 * That component is a bare name: "", "/", "a/" and "." are EINVAL. Returns the O_PATH fd, or -1 with errno. */
int beneath_open_parent(int dirfd, const char *path, const char **ret_name);

#endif
