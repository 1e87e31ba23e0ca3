/* write(2) and tee(2) that raise no signal: a library installs no handler and must not kill its host program. */
#ifndef BASE_QUIET_WRITE_H
#define BASE_QUIET_WRITE_H

#include <stddef.h>
#include <sys/types.h>

/* As write(2), once; EINTR is retried; a broken pipe is -1 with EPIPE, a file that would pass RLIMIT_FSIZE is -1 with
 * EFBIG, and nothing else happens. */
ssize_t quiet_write(int fd, const void *data, size_t size);
/* As tee(2), without blocking. */
ssize_t quiet_tee(int in_fd, int out_fd, size_t size);

#endif
