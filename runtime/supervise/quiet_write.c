/*
 * Writing to somebody who may have gone.
 *
 * Pipes know no MSG_NOSIGNAL, and a library may neither ignore SIGPIPE for the whole process nor install a handler. So
 * SIGPIPE is blocked in this thread around the write, and where the write raised it (SIGPIPE of a write is directed at
 * the writing thread) it is taken out of the queue before the mask goes back. A SIGPIPE that was pending before is
 * somebody else's and stays.
 */
#include "runtime/supervise/quiet_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static bool sigpipe_is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static void take_sigpipe(const sigset_t *only_sigpipe)
{
	const struct timespec at_once = {0};

	while (sigtimedwait(only_sigpipe, NULL, &at_once) < 0 && errno == EINTR)
		;
}

struct quiet {
	sigset_t only_sigpipe, before;
	bool was_pending;
};

static bool begin(struct quiet *quiet)
{
	int r;

	quiet->was_pending = sigpipe_is_pending();
	sigemptyset(&quiet->only_sigpipe);
	sigaddset(&quiet->only_sigpipe, SIGPIPE);
	r = pthread_sigmask(SIG_BLOCK, &quiet->only_sigpipe, &quiet->before);
	errno = r;
	return r == 0;
}

/* n and errno are those of the call in between. */
static ssize_t end(const struct quiet *quiet, ssize_t n)
{
	int saved_errno = errno;

	if (n < 0 && saved_errno == EPIPE && !quiet->was_pending)
		take_sigpipe(&quiet->only_sigpipe);
	/* Cannot fail: `before` came from the same call. */
	(void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = saved_errno;
	return n;
}

ssize_t quiet_write(int fd, const void *data, size_t size)
{
	struct quiet quiet;
	ssize_t n;

	if (!begin(&quiet))
		return -1;
	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	return end(&quiet, n);
}

ssize_t quiet_tee(int in_fd, int out_fd, size_t size)
{
	struct quiet quiet;
	ssize_t n;

	if (!begin(&quiet))
		return -1;
	do
		n = tee(in_fd, out_fd, size, SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return end(&quiet, n);
}
