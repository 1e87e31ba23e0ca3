/* What is said between the parent and the child of a launch, at the parent's end. */
#include "runtime/launch/setup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/launch/setup_message.h"

#define SETUP_NS_MAX (30 * NS_PER_S)
#define DYING_MS     1000 /* from the end of its socket to the end of the child */

/* As many datagrams as the descriptors need; `more` is 0 in the last. */
int setup_send_go(int control_fd, const int *trees, size_t n_ops, struct error *err)
{
	size_t next = 0;

	do {
		struct setup_go go = {.kind = SETUP_GO};
		int fds[FD_SEND_MAX];

		for (; next < n_ops && go.n < FD_SEND_MAX; next++) {
			if (trees[next] < 0)
				continue;
			fds[go.n] = trees[next];
			go.ops[go.n++] = (uint32_t)next;
		}
		go.more = next < n_ops;
		if (fd_send(control_fd, &go, sizeof go, fds, go.n) < 0)
			return error_set_errno(err, ERROR_INTERNAL, errno, "setup message", "to the child");
	} while (next < n_ops);
	return 0;
}

static int wait_readable(const struct launched *launched, struct error *err)
{
	struct pollfd polls[] = {{.fd = launched->control_fd, .events = POLLIN}};
	uint64_t until = monotime_after_ns(SETUP_NS_MAX);

	for (;;) {
		uint64_t now = monotime_ns();
		int r = now >= until ? 0 : poll(polls, 1, (int)((until - now) / NS_PER_MS) + 1);

		if (r > 0)
			return 0;
		if (r == 0)
			return error_set(err, ERROR_IO, "launch",
				"the boundary does not stand after 30 s: a file system does not answer");
		if (errno != EINTR)
			return error_set_errno(err, ERROR_IO, errno, "poll", "waiting for the child");
	}
}

static void keep_fds(struct launched *launched, uint32_t present, const int *fds, size_t n)
{
	int *const places[SETUP_FD_TMPFS] = {
		[SETUP_FD_MOUNTINFO] = &launched->mountinfo_fd,
		[SETUP_FD_PROC] = &launched->proc_fd,
		[SETUP_FD_SYSVIPC] = &launched->sysvipc_fd,
		[SETUP_FD_SYSVIPC_SEM] = &launched->sysvipc_sem_fd,
		[SETUP_FD_SYSVIPC_MSG] = &launched->sysvipc_msg_fd,
		[SETUP_FD_MOUNTINFO_CHECK] = &launched->mountinfo_check_fd,
		[SETUP_FD_TTY] = &launched->tty_fd,
	};
	size_t next = 0;

	for (unsigned bit = 0; bit < SETUP_FD_MAX && next < n; bit++) {
		if ((present & 1u << bit) == 0)
			continue;
		if (bit < SETUP_FD_TMPFS)
			*places[bit] = fds[next++];
		else
			launched->tmpfs_fds[launched->n_tmpfs++] = fds[next++];
	}
}

/* It is not reaped: that is left to who owns it. */
static bool was_killed_by_filter(const struct launched *launched)
{
	struct pollfd gone = {.fd = launched->pidfd, .events = POLLIN};
	siginfo_t info = {0};

	(void)poll(&gone, 1, DYING_MS);
	return waitid(P_PIDFD, (id_t)launched->pidfd, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) == 0 &&
		info.si_code != CLD_EXITED && info.si_status == SIGSYS;
}

/* A descriptor for each bit, and no other: a message that breaks the protocol has no trustworthy part. */
static bool is_ready(const struct setup_message *message, size_t n_fds)
{
	return message->kind == SETUP_READY && message->present < 1u << SETUP_FD_MAX &&
		(size_t)__builtin_popcount(message->present) == n_fds;
}

/* Race: what the parent sent to a child that has ended comes back as an error, before what the child had to say. */
static long receive(const struct launched *launched, struct setup_message *message, int *fds, size_t *ret_n)
{
	long size = fd_receive(launched->control_fd, message, sizeof *message, fds, SETUP_FD_MAX, ret_n, 0);

	if (size < 0 && errno == ECONNRESET)
		size = fd_receive(launched->control_fd, message, sizeof *message, fds, SETUP_FD_MAX, ret_n, 0);
	return size;
}

bool setup_child_has_ended(const struct launched *launched)
{
	struct pollfd end = {.fd = launched->control_fd};

	return poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0;
}

int setup_wait_ready(struct launched *launched, struct steps *steps, struct error *err)
{
	struct setup_message message;
	int fds[SETUP_FD_MAX];
	size_t n = 0;
	long size;

	if (wait_readable(launched, err) < 0)
		return -1;
	size = receive(launched, &message, fds, &n);
	if (size == (long)sizeof message && is_ready(&message, n)) {
		steps_take(steps, message.marks, message.n_marks < SETUP_MARKS_MAX ? message.n_marks : SETUP_MARKS_MAX);
		steps_mark(steps, STEP_READY);
		keep_fds(launched, message.present, fds, n);
		if (launched->proc_fd >= 0 &&
			(launched->subreaper || (launched->mountinfo_fd >= 0 && launched->mountinfo_check_fd >= 0)))
			return 0;
		return error_set(err, ERROR_UNENFORCEABLE, "launch", "the mounts and processes inside cannot be watched");
	}
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
	if (size == (long)sizeof message && message.kind == SETUP_FAILED)
		return error_receive(err, &message.error);
	if (size == 0 && was_killed_by_filter(launched))
		return error_set(err, ERROR_UNENFORCEABLE, "launch",
			"an outer seccomp filter killed the child while it built the boundary");
	if (size > 0)
		return error_set(err, ERROR_INTERNAL, "launch", "the child's answer is out of order");
	return error_set_errno(
		err, ERROR_INTERNAL, size < 0 ? errno : 0, "launch", "the child ended while it built the boundary");
}
