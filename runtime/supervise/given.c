/*
 * Threat: a stream that is given is the caller's own open file description, with its own flags. One that the command
 * has made non-blocking stays so: what a script writes there next, when the reader is slow, is lost with EAGAIN. One
 * that it has taken O_APPEND from makes the next writer overwrite what others write.
 *
 * Race: what the caller itself changes meanwhile is changed back. No duplicate is kept, for it would hold a pipe open
 * that the caller wants to see the end of; so the number may be another file's by then, which is left alone.
 */
#include "runtime/supervise/given.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

static bool look(int fd, struct given_stream *ret_stream)
{
	struct given_stream stream = {.fd = fd, .flags = fcntl(fd, F_GETFL)};
	struct stat st;

	if (stream.flags < 0 || fstat(fd, &st) < 0)
		return false;
	stream.device = st.st_dev;
	stream.inode = st.st_ino;
	*ret_stream = stream;
	return true;
}

static void remember(struct given *given, int fd)
{
	if (fd >= 0 && look(fd, &given->list[given->n]))
		given->n++;
}

void given_remember(struct given *given, const struct plan *plan)
{
	given->n = 0;
	if (plan->stdin_mode == PLAN_STDIN_FD)
		remember(given, plan->stdin_fd);
	if (plan->output != PLAN_OUTPUT_FD)
		return;
	remember(given, plan->out_fd);
	remember(given, plan->err_fd);
}

void given_restore(struct given *given)
{
	while (given->n > 0) {
		const struct given_stream *was = &given->list[--given->n];
		struct given_stream now;

		if (look(was->fd, &now) && now.device == was->device && now.inode == was->inode && now.flags != was->flags)
			(void)fcntl(was->fd, F_SETFL, was->flags);
	}
}
