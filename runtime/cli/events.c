/*
 * Events are queued and written when their reader is ready, because whoever reads them must never hold up the loop
 * that ends a run in time. A reader that falls too far behind, or leaves, loses the rest, and is told so on stderr.
 *
 * The caller's descriptor is not made non-blocking, for that would change it for every process that shares it. A pipe
 * that polls as writable takes PIPE_BUF bytes without waiting.
 *
 * Threat: a file lies perhaps where an earlier command could write and has left a symlink in its place. The last
 * component is therefore never followed, and what is found must be a file or a FIFO.
 */
#include "runtime/cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/cli/console.h"

#define BACKLOG_BYTES_MAX ((size_t)64 << 20)
#define PATIENCE_NS       (5 * NS_PER_S)

static int refuse(const char *path, struct error *err)
{
	return error_set(err, ERROR_USAGE, "--events", "--events: %s is neither a file nor a FIFO", path);
}

int cli_events_open(struct events *events, const struct settings *settings, struct error *err)
{
	const char *path = settings->events_file;
	cleanup_close int fd = -1;
	struct stat status;

	if (path == NULL) {
		events->fd = settings->events_fd;
		return 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd < 0 && errno == ELOOP)
		return refuse(path, err);
	if (fd < 0)
		return cli_open_error(err, errno, "--events", "open", path);
	if (fstat(fd, &status) < 0)
		return cli_open_error(err, errno, "--events", "look at", path);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return refuse(path, err);
	if (S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0)
		return cli_open_error(err, errno, "--events", "empty", path);
	events->fd = steal_fd(&fd);
	events->owned = true;
	return 0;
}

static size_t waiting(const struct events *events)
{
	return events->fd < 0 || events->lost != NULL ? 0 : events->pending.size - events->sent;
}

void cli_events_add(void *userdata, const char *json)
{
	struct events *events = userdata;

	if (events->fd < 0 || events->lost != NULL)
		return;
	buf_append_str(&events->pending, json);
	buf_append_char(&events->pending, '\n');
	if (events->pending.failed)
		events->lost = "memory ran out";
	else if (waiting(events) > BACKLOG_BYTES_MAX)
		events->lost = "their reader is too slow";
}

struct pollfd cli_events_poll(const struct events *events)
{
	return (struct pollfd){.fd = waiting(events) > 0 ? events->fd : -1, .events = POLLOUT};
}

static bool is_ready(const struct events *events, int timeout_ms)
{
	struct pollfd pollfd = cli_events_poll(events);

	return poll(&pollfd, 1, timeout_ms) > 0;
}

static void write_some(struct events *events)
{
	size_t size = waiting(events) < PIPE_BUF ? waiting(events) : PIPE_BUF;
	ssize_t n = write(events->fd, events->pending.data + events->sent, size);

	if (n < 0 && errno != EINTR && errno != EAGAIN)
		events->lost = errno == EPIPE ? "their reader has left" : "they cannot be written";
	if (n > 0)
		events->sent += (size_t)n;
	if (waiting(events) == 0) {
		buf_reset(&events->pending);
		events->sent = 0;
	}
}

void cli_events_pump(struct events *events)
{
	while (waiting(events) > 0 && is_ready(events, 0))
		write_some(events);
}

void cli_events_finish(struct events *events)
{
	uint64_t end_ns = monotime_after_ns(PATIENCE_NS);

	while (waiting(events) > 0) {
		uint64_t now_ns = monotime_ns();

		if (now_ns >= end_ns) {
			events->lost = "their reader does not read";
			return;
		}
		if (is_ready(events, (int)((end_ns - now_ns) / NS_PER_MS) + 1))
			write_some(events);
	}
}

void cli_events_done(struct events *events)
{
	if (events->owned)
		fd_close(events->fd);
	events->fd = -1;
	buf_done(&events->pending);
}
