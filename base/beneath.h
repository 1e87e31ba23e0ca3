/* Opening a path below a directory without following any symlink: openat2 where the kernel has it, else a walk. */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stddef.h>
#include <sys/stat.h>
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

/* By these rules for all but the last component, and of that one the thing itself, never what a symlink there points
 * to. 0, or -1 with errno. */
int beneath_mkdir(int dirfd, const char *path, mode_t mode);
int beneath_symlink(const char *target, int dirfd, const char *path);
int beneath_unlink(int dirfd, const char *path, int flags); /* flags as unlinkat(2) */
int beneath_rename(int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags); /* as renameat2(2) */
int beneath_stat(int dirfd, const char *path, struct stat *ret_status);
/* Returns the length of the target, NUL-terminated in buf; ENAMETOOLONG where it does not fit. */
ssize_t beneath_readlink(int dirfd, const char *path, char *buf, size_t size);
/* Opens path as a directory, after making what of it is not there, each with `mode` (and the umask). Returns an O_PATH
 * fd, or -1 with errno: ELOOP for a symlink on the way, ENOTDIR for a file, EXDEV for ".."; what was made stays. */
int beneath_make_dirs(int dirfd, const char *path, mode_t mode);

/* For messages, after ELOOP: how much of `path` ends with its first symlink; all of it where there is none by now. */
size_t beneath_link_length(int dirfd, const char *path);

#endif
