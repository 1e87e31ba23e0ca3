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

static ssize_t write_once(int fd, const void *data, size_t size)
{
	ssize_t n;

	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t quiet_write(int fd, const void *data, size_t size)
{
	sigset_t only_sigpipe, before;
	bool was_pending = sigpipe_is_pending();
	ssize_t n;
	int saved_errno;

	sigemptyset(&only_sigpipe);
	sigaddset(&only_sigpipe, SIGPIPE);
	saved_errno = pthread_sigmask(SIG_BLOCK, &only_sigpipe, &before);
	if (saved_errno != 0) {
		errno = saved_errno;
		return -1;
	}
	n = write_once(fd, data, size);
	saved_errno = errno;
	if (n < 0 && saved_errno == EPIPE && !was_pending)
		take_sigpipe(&only_sigpipe);
	/* Cannot fail: `before` came from the same call. */
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
	return n;
}
