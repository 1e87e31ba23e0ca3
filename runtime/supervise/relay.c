/*
 * Passing output on to a descriptor that belongs to the caller.
 *
 * It may be a pipe that nobody reads, a terminal stopped by ^S, a regular file (which epoll refuses), or a pipe whose
 * reader has gone. The loop must wait for none of them, and O_NONBLOCK cannot be switched on: it would be switched on
 * for every process that shares the file description, the caller's shell among them. So a pipe or terminal is opened
 * again through /proc/self/fd, which gives a description of our own.
 *
 * Fallback: where that is refused (a pipe of another user, a socket, no /proc) the duplicate is written to only after
 * POLLOUT, at most PIPE_BUF bytes at a time, which a pipe with room takes whole.
 *
 * A reader that has gone is noticed by EPIPE, by EPOLLERR, or by ENXIO when a pipe is opened again. It is only told
 * when there is something to write, as SIGPIPE would be.
 */
#include "runtime/supervise/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quiet_write.h"

static void give_up(struct relay *relay, int sys_errno)
{
	relay->gone = true;
	relay->sys_errno = sys_errno;
	relay->n_pending = relay->offset = 0;
	loop_remove(relay->loop, &relay->source);
}

static bool can_be_opened_again(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(fd)));
}

static int open_own(struct relay *relay, int fd)
{
	char path[40];

	if (can_be_opened_again(fd)) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		relay->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (relay->fd >= 0 || errno == ENXIO)
			return relay->fd;
	}
	relay->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (relay->fd >= 0)
		relay->blocking = (fcntl(relay->fd, F_GETFL) & O_NONBLOCK) == 0;
	return relay->fd;
}

static bool is_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) > 0;
}

/* Writes what is taken at once; returns how much, and sets gone where nobody will take any more. */
static size_t write_some(struct relay *relay, const char *data, size_t size)
{
	size_t done = 0;

	while (done < size && !relay->gone) {
		size_t chunk = size - done;
		ssize_t n;

		if (relay->pollable && relay->blocking) {
			if (!is_ready(relay->fd))
				break;
			chunk = chunk < PIPE_BUF ? chunk : PIPE_BUF;
		}
		n = quiet_write(relay->fd, data + done, chunk);
		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN && relay->pollable)
			break;
		else
			give_up(relay, errno);
	}
	return done;
}

static int wait_for_room(struct relay *relay, bool wait, struct error *err)
{
	if (!relay->pollable || relay->gone)
		return 0;
	return loop_modify(relay->loop, &relay->source, wait ? EPOLLOUT : 0, err);
}

static int on_event(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct relay *relay = userdata;
	bool was_clogged = relay_is_clogged(relay);

	(void)source;
	if (relay->n_pending > 0) {
		size_t done = write_some(relay, relay->pending + relay->offset, relay->n_pending);

		if (!relay->gone) {
			relay->offset += done;
			relay->n_pending -= done;
		}
	} else if (events & (EPOLLERR | EPOLLHUP)) {
		give_up(relay, EPIPE);
	}
	if (relay_is_clogged(relay))
		return 0;
	if (wait_for_room(relay, false, err) < 0)
		return -1;
	return was_clogged ? relay->drained(relay->userdata, err) : 0;
}

static int watch(struct relay *relay, struct error *err)
{
	struct error refused = {0};

	relay->pollable = loop_add_fd(relay->loop, &relay->source, relay->fd, 0, on_event, relay, &refused) == 0;
	if (relay->pollable || refused.sys_errno == EPERM)
		return 0;
	if (err != NULL)
		*err = refused;
	return -1;
}

int relay_open(struct relay *relay, struct loop *loop, int fd, int (*drained)(void *userdata, struct error *err),
	void *userdata, struct error *err)
{
	*relay = (struct relay){
		.loop = loop, .source = LOOP_SOURCE_INIT, .fd = -1, .drained = drained, .userdata = userdata};
	if (open_own(relay, fd) < 0) {
		if (errno != ENXIO)
			return error_set_errno(
				err, ERROR_IO, errno, "relay", "cannot use the caller's descriptor %d", fd);
		give_up(relay, EPIPE);
		return 0;
	}
	relay->pending = malloc(RELAY_PENDING_MAX);
	if (relay->pending == NULL)
		return error_no_memory(err);
	return watch(relay, err);
}

void relay_close(struct relay *relay)
{
	if (relay->loop != NULL)
		loop_remove(relay->loop, &relay->source);
	cleanup_close_fd(&relay->fd);
	free(relay->pending);
	*relay = (struct relay){.source = LOOP_SOURCE_INIT, .fd = -1};
}

int relay_write(struct relay *relay, const void *data, size_t size, struct error *err)
{
	size_t done;

	if (relay->gone)
		return 0;
	done = write_some(relay, data, size);
	if (relay->gone || done == size)
		return 0;
	if (size - done > RELAY_PENDING_MAX)
		return error_set(err, ERROR_INTERNAL, "relay", "%zu bytes at once are more than a relay holds", size);
	memcpy(relay->pending, (const char *)data + done, size - done);
	relay->offset = 0;
	relay->n_pending = size - done;
	return wait_for_room(relay, true, err);
}

bool relay_is_clogged(const struct relay *relay)
{
	return relay->n_pending > 0;
}
