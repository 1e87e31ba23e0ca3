/*
 * One row for each way in which a stream can be joined. Pipes are made here, close-on-exec, so that no other run that
 * is started meanwhile can inherit them and delay an end of file.
 */
#include "runtime/launch/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static int open_null(struct streams *streams, int i, int flags, struct error *err)
{
	streams->child[i] = open("/dev/null", flags | O_CLOEXEC);
	if (streams->child[i] < 0)
		return error_set_errno(err, ERROR_IO, errno, "open", "/dev/null");
	streams->owned[i] = true;
	return 0;
}

/* Threat: a directory as a stream is a way around every wall: /proc/self/fd/0/ leads on from it, on the caller's
 * mounts. So is a descriptor that only names a place (O_PATH). */
static int check_given(int i, int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, ERROR_USAGE, errno, "stream", "descriptor %d for stream %d", fd, i);
	if (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode) || (flags & O_PATH) != 0)
		return error_set(err, ERROR_USAGE, "stream",
			"stream %d is a directory or a mere name: the command could reach the host through it", i);
	return 0;
}

/* child_end: 0 where the command reads, 1 where it writes. */
static int open_pipe(struct streams *streams, int i, int child_end, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, ERROR_IO, errno, "pipe", "for stream %d", i);
	streams->child[i] = ends[child_end];
	streams->owned[i] = true;
	streams->ours[i] = ends[1 - child_end];
	return fd_set_nonblock(streams->ours[i], true, err);
}

/* Threat: see supervise/loan.c. The caller's own pipe stays with the supervisor. */
static bool must_be_lent(const struct plan *plan)
{
	struct stat st;

	return plan_is_confined(plan) && fstat(plan->stdin_fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static int give_stdin(const struct plan *plan, struct streams *streams, struct error *err)
{
	if (check_given(0, plan->stdin_fd, err) < 0)
		return -1;
	if (must_be_lent(plan))
		return open_pipe(streams, 0, 0, err);
	streams->child[0] = plan->stdin_fd;
	return 0;
}

static int open_stdin(const struct plan *plan, struct streams *streams, struct error *err)
{
	switch (plan->stdin_mode) {
	case PLAN_STDIN_NONE: return open_null(streams, 0, O_RDONLY, err);
	case PLAN_STDIN_DATA: return open_pipe(streams, 0, 0, err);
	case PLAN_STDIN_FD: return give_stdin(plan, streams, err);
	}
	return error_set(err, ERROR_INTERNAL, "stdin", "unknown mode");
}

static int open_output(const struct plan *plan, struct streams *streams, int i, struct error *err)
{
	int given = i == 1 ? plan->out_fd : plan->err_fd;

	if (plan->output == PLAN_OUTPUT_CAPTURE || plan->output == PLAN_OUTPUT_RELAY)
		return open_pipe(streams, i, 1, err);
	if (given < 0)
		return open_null(streams, i, O_WRONLY, err);
	streams->child[i] = given;
	return check_given(i, given, err);
}

int streams_open(const struct plan *plan, struct streams *ret_streams, struct error *err)
{
	struct streams streams = {.child = {-1, -1, -1}, .ours = {-1, -1, -1}};

	/* A terminal's other end becomes all three, once the sandbox's devpts is there. */
	if (plan->output != PLAN_OUTPUT_TTY &&
		(open_stdin(plan, &streams, err) < 0 || open_output(plan, &streams, 1, err) < 0 ||
			open_output(plan, &streams, 2, err) < 0)) {
		streams_done(&streams);
		return -1;
	}
	*ret_streams = streams;
	return 0;
}

/* Fallback: without CAP_CHOWN the pipes stay root's, and nothing is lost but the opening of /dev/stderr by its name. */
int streams_give(const struct streams *streams, uid_t host_uid, struct error *err)
{
	for (int i = 0; i < 3; i++) {
		if (streams->ours[i] >= 0 && fchown(streams->ours[i], host_uid, host_uid) < 0 && errno != EPERM)
			return error_set_errno(err, ERROR_IO, errno, "fchown", "the pipe of stream %d", i);
	}
	return 0;
}

void streams_close_child(struct streams *streams)
{
	for (int i = 0; i < 3; i++) {
		if (streams->owned[i])
			cleanup_close_fd(&streams->child[i]);
		streams->owned[i] = false;
	}
}

void streams_done(struct streams *streams)
{
	streams_close_child(streams);
	for (int i = 0; i < 3; i++)
		cleanup_close_fd(&streams->ours[i]);
}
