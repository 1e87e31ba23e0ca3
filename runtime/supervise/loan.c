/*
 * A pipe of the caller's as standard input.
 *
 * Threat: whoever has a pipe for reading and is its owner can open it for writing through /proc/self/fd/0. The other
 * readers of that pipe are the caller's: a shell that reads its script from it, a loop over lines. What the command
 * wrote there would be run outside. So it gets a pipe of its own, and what comes is copied.
 *
 * But a copy that is made ahead would take from the caller's pipe what the command never reads: `while read x; do
 * pinfold run ...; done` would end after its first turn. So bytes are lent: tee(2) puts them into the command's pipe
 * and leaves them in the caller's. When the command's pipe is empty they are taken from the caller's too, and the next
 * ones are lent; at the end as many are taken as the command has read.
 *
 * The command's pipe has room for one buffer, so that it has room again exactly when it is empty, which epoll can tell.
 * For a command that reads fast that would be slow: it gets a wide pipe, of which epoll tells only that something was
 * read, and which is looked at again until it is empty, after pauses that get longer. It gets a narrow one again when
 * it has become slow. The command may widen its pipe itself, or write into it: the pauses serve for that, too. What it
 * can have of it is wrong input for itself, and which part of the lent bytes is taken.
 */
#include "runtime/supervise/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "base/quiet_write.h"

#define NARROW_BYTES 1 /* the smallest there is: one buffer */
#define WIDE_BYTES   65536
#define FAST_NS      (2 * NS_PER_MS) /* for all that was lent */
#define PAUSE_MIN_NS (NS_PER_MS / 20)
#define PAUSE_MAX_NS (16 * NS_PER_MS)
#define EOF_LOOKS    2
#define TAKE_BYTES   8192

static int step(struct loan *loan, struct error *err);

static int on_input(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return step(userdata, err);
}

static int on_room(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source;
	if ((events & EPOLLERR) != 0) { /* nobody has the command's pipe any more */
		loan_close(userdata);
		return 0;
	}
	return step(userdata, err);
}

static int on_again(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return step(userdata, err);
}

static size_t waiting_in(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) < 0 || n < 0 ? 0 : (size_t)n;
}

/* Race: another reader of the caller's pipe may have been faster; then there is less to take, and no wait for more. */
static void take(struct loan *loan, size_t size)
{
	char bytes[TAKE_BYTES];

	while (size > 0) {
		struct pollfd there = {.fd = loan->in_fd, .events = POLLIN};
		ssize_t n = 0;

		if (poll(&there, 1, 0) > 0 && (there.revents & POLLIN) != 0)
			n = read(loan->in_fd, bytes, size < sizeof bytes ? size : sizeof bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		size -= (size_t)n;
	}
}

static int wait_for_input(struct loan *loan, struct error *err)
{
	loop_remove(loan->loop, &loan->out);
	if (loan->in.fd >= 0)
		return 0;
	return loop_add_fd(loan->loop, &loan->in, loan->in_fd, EPOLLIN, on_input, loan, err);
}

static int wait_for_room(struct loan *loan, struct error *err)
{
	loop_remove(loan->loop, &loan->in);
	if (loan->out.fd >= 0)
		return 0;
	return loop_add_fd(loan->loop, &loan->out, loan->out_fd, EPOLLOUT, on_room, loan, err);
}

static int wait_a_moment(struct loan *loan, struct error *err)
{
	loop_remove(loan->loop, &loan->in);
	loop_remove(loan->loop, &loan->out);
	if (loan->pause_ns < PAUSE_MAX_NS)
		loan->pause_ns *= 2;
	return loop_arm(&loan->again, monotime_after_ns(loan->pause_ns), err);
}

static bool has_room(const struct loan *loan)
{
	struct pollfd out = {.fd = loan->out_fd, .events = POLLOUT};

	return poll(&out, 1, 0) > 0;
}

/* As tee(2): 0 is the end of the caller's input. Race: another reader that was faster makes it 0 as well, but not twice. */
static ssize_t lend(const struct loan *loan)
{
	ssize_t n = 0;

	for (unsigned i = 0; i < EOF_LOOKS && n == 0; i++)
		n = quiet_tee(loan->in_fd, loan->out_fd, WIDE_BYTES);
	return n;
}

/* Fallback: a user who may not have more pipes that are wide, and a command that filled its own, keep what there is. */
static void fit_width(struct loan *loan)
{
	bool wide = monotime_ns() - loan->lent_ns < FAST_NS;

	if (wide != loan->wide && fcntl(loan->out_fd, F_SETPIPE_SZ, wide ? WIDE_BYTES : NARROW_BYTES) >= 0)
		loan->wide = wide;
}

/* The command's pipe is empty. */
static void settle(struct loan *loan)
{
	if (loan->lent == 0)
		return;
	take(loan, loan->lent);
	fit_width(loan);
	loan->lent = 0;
	loan->pause_ns = PAUSE_MIN_NS;
}

static int step(struct loan *loan, struct error *err)
{
	ssize_t n;

	if (waiting_in(loan->out_fd) > 0)
		return has_room(loan) ? wait_a_moment(loan, err) : wait_for_room(loan, err);
	settle(loan);
	n = lend(loan);
	if (n > 0) {
		loan->lent = (size_t)n;
		loan->lent_ns = monotime_ns();
		return wait_for_room(loan, err);
	}
	if (n < 0 && errno == EAGAIN)
		return has_room(loan) ? wait_for_input(loan, err) : wait_a_moment(loan, err);
	if (n < 0 && errno != EPIPE)
		return error_set_errno(err, ERROR_IO, errno, "stdin", "cannot pass the caller's pipe on");
	loan_close(loan);
	return 0;
}

/* Fallback: a pipe of another user's cannot be opened anew, and then may block; it is only read after a poll. */
static int open_own(struct loan *loan, int fd, struct error *err)
{
	char path[40];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	loan->in_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (loan->in_fd < 0)
		loan->in_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (loan->in_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "stdin", "cannot use the caller's descriptor %d", fd);
	return 0;
}

int loan_open_take(struct loan *loan, struct loop *loop, int in_fd, int out_fd, struct error *err)
{
	*loan = (struct loan)LOAN_INIT;
	loan->loop = loop;
	loan->out_fd = out_fd;
	loan->finished = false;
	loan->pause_ns = PAUSE_MIN_NS;
	if (fcntl(out_fd, F_SETPIPE_SZ, NARROW_BYTES) < 0)
		(void)error_set_errno(err, ERROR_IO, errno, "stdin", "cannot make the command's pipe small");
	else if (open_own(loan, in_fd, err) == 0 && loop_add_timer(loop, &loan->again, on_again, loan, err) == 0 &&
		step(loan, err) == 0)
		return 0;
	loan_close(loan);
	return -1;
}

void loan_close(struct loan *loan)
{
	size_t left;

	if (loan->finished)
		return;
	loan->finished = true;
	loop_remove(loan->loop, &loan->in);
	loop_remove(loan->loop, &loan->out);
	loop_remove(loan->loop, &loan->again);
	left = waiting_in(loan->out_fd);
	if (left < loan->lent)
		take(loan, loan->lent - left);
	cleanup_close_fd(&loan->in_fd);
	cleanup_close_fd(&loan->out_fd);
}
