/* Descriptors: whole reads and writes, sealed memory files, passing by socket. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

int fd_close(int fd); /* closes where >= 0, keeps errno, returns -1 */
/* Writes all of data; EINTR and short writes handled. 0, or -1 with errno. */
int fd_write_all(int fd, const void *data, size_t size);
/* Reads to end of file, at most max bytes (more is ERROR_LIMIT). */
must_check int fd_read_all(int fd, size_t max, struct buf *buf, struct error *err);
must_check int fd_read_file(int dirfd, const char *path, size_t max, struct buf *buf, struct error *err);
/* A close-on-exec memory file holding data, sealed against every change. Returns the fd. */
must_check int fd_memfile(const char *name, const void *data, size_t size, struct error *err);
/* One datagram with up to n_fds descriptors; async-signal-safe. 0, or -1 with errno. n_fds <= FD_SEND_MAX. */
#define FD_SEND_MAX 200
int fd_send(int sock, const void *data, size_t size, const int *fds, size_t n_fds);
/* Closes n descriptors (n < FD_SEND_MAX; those below 0 are none) and sets them to -1. What the last close of them takes
 * down in the kernel is left to a thread of the kernel's own, where that is possible. */
void fd_close_aside(int *const *fds, size_t n);
/* Receives one datagram; descriptors arrive close-on-exec in fds (at most max_fds, more is EMSGSIZE and all are
 * closed). Returns its size (0: the other end is gone), or -1 with errno. Async-signal-safe. flags as recvmsg. */
long fd_receive(int sock, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_n_fds, int flags);
must_check int fd_set_nonblock(int fd, bool on, struct error *err);
/* Makes 0, 1 and 2 of this process open (on /dev/null) where they are closed. 0, or -1 with errno. */
int fd_ensure_stdio(void);

#endif
