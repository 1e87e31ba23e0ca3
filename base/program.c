/*
 * A child that executes a program, watched until it ends.
 *
 * The child is cloned with all signals blocked and without an exit signal, so no handler of the caller's runs in it,
 * and a caller that has SIGCHLD handled hears nothing of a program that cannot be executed; execve gives the exit
 * signal back (clone(2)), which the wait here bears. Whether it could be executed comes over a close-on-exec pipe: an
 * errno, or nothing.
 *
 * Threat: a program that hangs, or leaves a process behind that holds its output open, must not hold the caller: time
 * is bounded, and what ends the wait is the program's own end (its pidfd), not the end of its output.
 */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/sys.h"

#define SIGNAL_STATUS 128
#define FAILURE_FD    3

struct child {
	int pidfd;
	int output_fd, failure_fd;
};

static void default_signals(void)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &action, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0, 1 and 2 as they should be; FAILURE_FD, the only other one, is closed by the execve. */
static int place_descriptors(int output_fd, int failure_fd)
{
	(void)close(0);
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) != 0 || fcntl(0, F_SETFD, 0) < 0)
		return -1;
	if (dup2(output_fd, 1) < 0 || dup2(output_fd, 2) < 0 || dup3(failure_fd, FAILURE_FD, O_CLOEXEC) < 0)
		return -1;
	return sys_close_range(FAILURE_FD + 1, ~0u, 0);
}

static _Noreturn void run_child(const struct program *program, int output_fd, int failure_fd)
{
	int at = failure_fd;
	ssize_t n;

	if (place_descriptors(output_fd, failure_fd) == 0) {
		at = FAILURE_FD;
		(void)setsid();
		default_signals();
		/* execve takes pointers to characters that it does not change. */
		(void)execve(program->path, (char *const *)(uintptr_t)program->argv,
			(char *const *)(uintptr_t)program->environment);
	}
	n = write(at, &errno, sizeof errno);
	_exit(n == (ssize_t)sizeof errno ? 1 : 2);
}

/* Kept clear of those that the child places, which a caller may have closed. */
static int open_pipe(int ends[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FAILURE_FD + 1);
	(void)close(low[0]);
	(void)close(low[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	(void)fd_close(ends[0]);
	(void)fd_close(ends[1]);
	return -1;
}

static int start(const struct program *program, struct child *ret_child, struct error *err)
{
	cleanup_close int output_read = -1, output_write = -1, failure_read = -1, failure_write = -1;
	int pidfd = -1;
	struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd};
	int output[2], failure[2];
	pid_t pid;

	if (open_pipe(output) < 0)
		return error_set_errno(err, ERROR_IO, errno, "pipe", "cannot start %s", program->path);
	output_read = output[0];
	output_write = output[1];
	if (open_pipe(failure) < 0)
		return error_set_errno(err, ERROR_IO, errno, "pipe", "cannot start %s", program->path);
	failure_read = failure[0];
	failure_write = failure[1];
	pid = sys_clone3_blocked(&args);
	if (pid == 0)
		run_child(program, output_write, failure_write);
	if (pid < 0)
		return error_set_errno(err, ERROR_LIMIT, errno, "clone3", "cannot start %s", program->path);
	*ret_child = (struct child){
		.pidfd = pidfd, .output_fd = steal_fd(&output_read), .failure_fd = steal_fd(&failure_read)};
	return 0;
}

/* What is there now; 0 where there is no more for the moment, 1 at the end. */
static int drain(int fd, struct buf *output)
{
	char data[4096];
	ssize_t n;

	do {
		n = read(fd, data, sizeof data);
		if (n > 0 && output->size < PROGRAM_OUTPUT_MAX)
			buf_append(output, data, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0;
}

static int watch(const struct program *program, const struct child *child, struct buf *output, struct error *err)
{
	struct pollfd polls[] = {{.fd = child->pidfd, .events = POLLIN}, {.fd = child->output_fd, .events = POLLIN}};
	uint64_t until = monotime_after_ns(program->timeout_ns);

	for (;;) {
		uint64_t now = monotime_ns();
		int r = now >= until ? 0 : poll(polls, 2, (int)((until - now) / NS_PER_MS) + 1);

		if (r == 0)
			return error_set(err, ERROR_LIMIT, "run", "%s does not end in time", program->path);
		if (r < 0 && errno != EINTR)
			return error_set_errno(err, ERROR_IO, errno, "poll", "waiting for %s", program->path);
		if (r > 0 && polls[1].revents != 0 && drain(child->output_fd, output) == 1)
			polls[1].fd = -1;
		if (r > 0 && polls[0].revents != 0) {
			(void)drain(child->output_fd, output);
			return 0;
		}
	}
}

static int reap(const struct child *child)
{
	siginfo_t info = {0};

	while (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	if (info.si_pid == 0)
		return 0;
	return info.si_code == CLD_EXITED ? info.si_status : SIGNAL_STATUS + info.si_status;
}

static void child_done(struct child *child)
{
	(void)fd_close(child->pidfd);
	(void)fd_close(child->output_fd);
	(void)fd_close(child->failure_fd);
}

int program_run(const struct program *program, struct buf *ret_output, struct error *err)
{
	__attribute__((cleanup(child_done))) struct child child = {-1, -1, -1};
	int failure = 0;
	int status;
	int r;

	if (start(program, &child, err) < 0)
		return -1;
	r = fd_set_nonblock(child.output_fd, true, err);
	if (r == 0)
		r = watch(program, &child, ret_output, err);
	if (r < 0)
		(void)sys_pidfd_send_signal(child.pidfd, SIGKILL);
	status = reap(&child);
	if (r < 0)
		return -1;
	if (read(child.failure_fd, &failure, sizeof failure) == (ssize_t)sizeof failure)
		return error_set_errno(err, failure == ENOENT || failure == EACCES ? ERROR_NOT_FOUND : ERROR_IO,
			failure, "execve", "%s cannot be executed", program->path);
	return buf_check(ret_output, err) < 0 ? -1 : status;
}
