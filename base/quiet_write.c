/*
 * Writing where the kernel answers by a signal: to somebody who may have gone (SIGPIPE), and to a file that may have
 * met the host program's own limit of the size of a file (SIGXFSZ).
 *
 * Pipes and files know no MSG_NOSIGNAL, and a library may neither ignore a signal for the whole process nor install a
 * handler. So both are blocked in this thread around the write, and the one that the write raised (it is directed at
 * the writing thread) is taken out of the queue before the mask goes back. One that was pending before is somebody
 * else's and stays.
 */
#include "base/quiet_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* The signal that comes with this errno of a write; 0 for none. */
static int signal_of(int sys_errno)
{
	if (sys_errno == EPIPE)
		return SIGPIPE;
	return sys_errno == EFBIG ? SIGXFSZ : 0;
}

static void take_signal(int signo)
{
	const struct timespec at_once = {0};
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, signo);
	while (sigtimedwait(&only, NULL, &at_once) < 0 && errno == EINTR)
		;
}

struct quiet {
	sigset_t pending, before;
};

static bool begin(struct quiet *quiet)
{
	sigset_t raised;
	int r;

	(void)sigpending(&quiet->pending); /* fails for a bad address only */
	sigemptyset(&raised);
	sigaddset(&raised, SIGPIPE);
	sigaddset(&raised, SIGXFSZ);
	r = pthread_sigmask(SIG_BLOCK, &raised, &quiet->before);
	errno = r;
	return r == 0;
}

/* n and errno are those of the call in between. */
static ssize_t end(const struct quiet *quiet, ssize_t n)
{
	int saved_errno = errno;
	int signo = n < 0 ? signal_of(saved_errno) : 0;

	if (signo != 0 && sigismember(&quiet->pending, signo) == 0)
		take_signal(signo);
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
