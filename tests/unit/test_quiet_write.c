#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/quiet_write.h"
#include "tests/unit/harness.h"

TestSuite(quiet_write, .fini = harness_leak_check, .timeout = 20);

static bool is_pending(int signo)
{
	sigset_t pending;

	cr_assert_eq(sigpending(&pending), 0);
	return sigismember(&pending, signo) == 1;
}

/* A write that is answered by errno and signo raises nothing, takes no signal that was there before, and changes no mask. */
static void check_silence(int fd, int sys_errno, int signo)
{
	sigset_t mask;

	cr_expect_eq(quiet_write(fd, "x", 1), -1);
	cr_expect_eq(errno, sys_errno);
	cr_expect_not(is_pending(signo));
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	cr_expect_eq(sigismember(&mask, signo), 0);

	sigemptyset(&mask);
	sigaddset(&mask, signo);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	cr_assert_eq(raise(signo), 0);
	cr_expect_eq(quiet_write(fd, "x", 1), -1);
	cr_expect_eq(errno, sys_errno);
	cr_expect(is_pending(signo), "it was not ours to take");
}

static void limit_file_size(rlim_t bytes)
{
	const struct rlimit limit = {bytes, RLIM_INFINITY};

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(quiet_write, leaves_others_sigpipe_alone)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	fd_close(ends[0]);
	check_silence(ends[1], EPIPE, SIGPIPE);
	fd_close(ends[1]);
}

Test(quiet_write, leaves_others_sigxfsz_alone)
{
	int fd = memfd_create("limited", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	limit_file_size(3);
	cr_expect_eq(quiet_write(fd, "four", 4), 3);
	check_silence(fd, EFBIG, SIGXFSZ);
	fd_close(fd);
}

Test(quiet_write, a_memory_file_beyond_the_limit_is_an_error)
{
	struct error err = {0};

	limit_file_size(3);
	cr_expect_eq(fd_memfile("limited", "four", 4, &err), -1);
	cr_expect_eq(err.sys_errno, EFBIG);
	cr_expect_str_eq(err.where, "write memory file");
}
