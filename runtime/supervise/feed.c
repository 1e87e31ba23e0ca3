/*
 * Feeding the command's stdin while its output is read in the same loop, so that neither side can wait for the other.
 *
 * A command that does not read its input, or ends before, is nothing unusual: a broken pipe ends the feed. The caller's
 * descriptor (the keyboard of a private terminal) may be shared with other processes and may block. It is opened again
 * without blocking where that is possible, else read only after POLLIN. A regular file, which epoll refuses, is
 * read whenever the terminal has room.
 *
 * A terminal has no end of file, it has a character for it, which counts only at the beginning of a line: behind an
 * unfinished line it is sent twice.
 */
#include "runtime/supervise/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quiet_write.h"

static int step(struct feed *feed, struct error *err);

static void finish(struct feed *feed)
{
	loop_remove(feed->loop, &feed->in);
	loop_remove(feed->loop, &feed->out);
	cleanup_close_fd(&feed->in_fd);
	cleanup_close_fd(&feed->out_fd);
	feed->finished = true;
}

static int on_room(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return step(userdata, err);
}

static int on_input(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return step(userdata, err);
}

static int wait_for_room(struct feed *feed, struct error *err)
{
	loop_remove(feed->loop, &feed->in);
	if (feed->out.fd >= 0)
		return 0;
	return loop_add_fd(feed->loop, &feed->out, feed->out_fd, EPOLLOUT, on_room, feed, err);
}

static int wait_for_input(struct feed *feed, struct error *err)
{
	struct error refused = {0};

	loop_remove(feed->loop, &feed->out);
	if (feed->in.fd >= 0 || loop_add_fd(feed->loop, &feed->in, feed->in_fd, EPOLLIN, on_input, feed, &refused) == 0)
		return 0;
	if (refused.sys_errno == EPERM) {
		feed->in_pollable = false;
		return wait_for_room(feed, err);
	}
	if (err != NULL)
		*err = refused;
	return -1;
}

/* 1: all is written; 0: no room; -1: nobody reads any more. */
static int write_rest(struct feed *feed)
{
	while (feed->size > 0) {
		ssize_t n = quiet_write(feed->out_fd, feed->data, feed->size);

		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		feed->last = feed->data[n > 0 ? n - 1 : 0];
		feed->data += n;
		feed->size -= (size_t)n;
	}
	return 1;
}

/* Puts the end of a terminal's input into the buffer; none where its reader takes single characters. */
static void put_veof(struct feed *feed)
{
	struct termios termios;

	if (tcgetattr(feed->out_fd, &termios) != 0 || (termios.c_lflag & ICANON) == 0)
		return;
	feed->buffer[0] = feed->buffer[1] = (char)termios.c_cc[VEOF];
	feed->data = feed->buffer;
	feed->size = feed->last == '\n' ? 1 : 2;
}

static void end_of_input(struct feed *feed)
{
	loop_remove(feed->loop, &feed->in);
	cleanup_close_fd(&feed->in_fd);
	if (feed->end == FEED_END_VEOF)
		put_veof(feed);
	feed->end = FEED_END_CLOSE;
}

static bool input_is_ready(const struct feed *feed)
{
	struct pollfd p = {.fd = feed->in_fd, .events = POLLIN};

	return !feed->in_pollable || !feed->in_blocking || poll(&p, 1, 0) > 0;
}

/* False where nothing is to be had now. */
static bool read_more(struct feed *feed)
{
	ssize_t n;

	if (!input_is_ready(feed))
		return false;
	do
		n = read(feed->in_fd, feed->buffer, sizeof feed->buffer);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n > 0) {
		feed->data = feed->buffer;
		feed->size = (size_t)n;
	} else {
		end_of_input(feed); /* an error of the caller's terminal (it hung up) is an end as well */
	}
	return true;
}

static int step(struct feed *feed, struct error *err)
{
	for (;;) {
		int written = write_rest(feed);

		if (written < 0) {
			finish(feed);
			return 0;
		}
		if (written == 0)
			return wait_for_room(feed, err);
		if (feed->in_fd >= 0) {
			if (!read_more(feed))
				return wait_for_input(feed, err);
		} else if (feed->end == FEED_END_VEOF) {
			end_of_input(feed);
		} else {
			finish(feed);
			return 0;
		}
	}
}

static int open_input(struct feed *feed, int fd, struct error *err)
{
	struct stat st;
	char path[40];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || isatty(fd)))
		feed->in_fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (feed->in_fd < 0) {
		feed->in_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		feed->in_blocking = true;
	}
	if (feed->in_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "stdin", "cannot use the caller's descriptor %d", fd);
	return 0;
}

int feed_open_take(struct feed *feed, struct loop *loop, const void *data, size_t size, int in_fd, int out_fd,
	enum feed_end end, struct error *err)
{
	*feed = (struct feed)FEED_INIT;
	feed->loop = loop;
	feed->out_fd = out_fd;
	feed->end = end;
	feed->in_pollable = true;
	feed->finished = false;
	feed->data = data;
	feed->size = size;
	feed->last = '\n';
	if (in_fd >= 0 && open_input(feed, in_fd, err) < 0) {
		finish(feed);
		return -1;
	}
	return step(feed, err);
}

void feed_close(struct feed *feed)
{
	if (!feed->finished)
		finish(feed);
}
