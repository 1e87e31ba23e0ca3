/* write(2) and tee(2) that never raise SIGPIPE: the library installs no handler and must not kill its host program. */
#ifndef SUPERVISE_QUIET_WRITE_H
#define SUPERVISE_QUIET_WRITE_H

#include <stddef.h>
#include <sys/types.h>

/* As write(2), once; EINTR is retried; a broken pipe is -1 with EPIPE and nothing else. */
ssize_t quiet_write(int fd, const void *data, size_t size);
/* As tee(2), without blocking. */
ssize_t quiet_tee(int in_fd, int out_fd, size_t size);

#endif
