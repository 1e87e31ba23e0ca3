/*
 * One stream of output.
 *
 *   pipe or terminal -> read -> kept, head and tail       (captured)
 *                            -> passage (cap) -> relay    (passed on)
 *
 * The command is never made to wait by a cap: beyond it everything is drained and counted. It does wait for a slow
 * consumer, as it would if it wrote to it directly: while the relay is clogged the pipe is not read.
 *
 * Threat: the end of file proves nothing. A daemon of the command, or a process outside to which it passed the
 * descriptor, can hold the pipe open for ever, and the latter can fill it for ever. So the end of the run is the death
 * of the tree; after it at most what the pipe can hold is read.
 *
 * A source is removed rather than muted while the relay is clogged: a hang-up is reported even to a source that asks
 * for nothing, and would keep the loop spinning.
 */
#include "runtime/supervise/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHUNKS_A_TURN  4 /* then other sources have their turn */
#define SPLICE_SIZE    (1u << 20)
#define BUDGET_DEFAULT 65536 /* of something that is no pipe: a terminal holds less */

static int on_readable(struct loop_source *source, uint32_t events, void *userdata, struct error *err);

static int listen_again(struct output *output, struct error *err)
{
	if (output->fd < 0 || output->eof || output->source.fd >= 0)
		return 0;
	return loop_add_fd(output->loop, &output->source, output->fd, EPOLLIN, on_readable, output, err);
}

static int tell_gone(struct output *output, struct error *err)
{
	return output->events->consumer_gone(output->events->userdata, output->stream, output->relay.sys_errno, err);
}

static int pass_on(struct output *output, const char *data, size_t size, struct error *err)
{
	if (size == 0)
		return 0;
	if (output->events->chunk(output->events->userdata, output->stream, data, size, err) < 0)
		return -1;
	if (!output->relay.gone && relay_write(&output->relay, data, size, err) < 0)
		return -1;
	return 0;
}

static int take_chunk(struct output *output, const char *data, size_t size, struct error *err)
{
	char *passed = output->buffer + OUTPUT_CHUNK;

	output->total += size;
	if (!output->relayed) {
		if (output->events->chunk(output->events->userdata, output->stream, data, size, err) < 0)
			return -1;
		return keep_add(&output->keep, data, size, err);
	}
	if (pass_on(output, passed, passage_take(&output->passage, data, size, passed), err) < 0)
		return -1;
	return output->relay.gone ? tell_gone(output, err) : 0;
}

static size_t next_size(const struct output *output, size_t most)
{
	return output->ending && output->budget < most ? (size_t)output->budget : most;
}

/* Beyond the cap nobody looks at the bytes: they go from the pipe to /dev/null without being copied. */
static ssize_t drain(struct output *output)
{
	ssize_t n;

	if (output->null_fd < 0)
		output->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (output->null_fd < 0)
		return read(output->fd, output->buffer, next_size(output, OUTPUT_CHUNK));
	n = splice(output->fd, NULL, output->null_fd, NULL, next_size(output, SPLICE_SIZE), SPLICE_F_NONBLOCK);
	/* Fallback: a terminal, or a kernel that cannot splice from it: read. */
	if (n < 0 && errno == EINVAL)
		n = read(output->fd, output->buffer, next_size(output, OUTPUT_CHUNK));
	return n;
}

/* Returns 1 when there was something, 0 when there is nothing to be had now, -1 on failure. */
static int take_turn(struct output *output, struct error *err)
{
	bool draining = output->relayed && output->passage.closed;
	ssize_t n = draining ? drain(output) : read(output->fd, output->buffer, next_size(output, OUTPUT_CHUNK));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR ? 1 : 0;
	if (n < 0 && errno != EIO) /* EIO: the last user of a terminal closed it */
		return error_set_errno(err, ERROR_IO, errno, "output", "cannot read stream %d", output->stream);
	if (n <= 0) {
		output->eof = true;
		return 0;
	}
	if (output->ending)
		output->budget -= (uint64_t)n;
	if (draining) {
		output->total += (uint64_t)n;
		if (output->relay.gone && tell_gone(output, err) < 0)
			return -1;
		return 1;
	}
	return take_chunk(output, output->buffer, (size_t)n, err) < 0 ? -1 : 1;
}

/* Beyond the cap there is nothing that a slow consumer would have to take. */
static bool must_wait(const struct output *output)
{
	return output->relayed && !output->passage.closed && relay_is_clogged(&output->relay);
}

static bool wants_more(const struct output *output)
{
	return output->fd >= 0 && !output->eof && !must_wait(output) && !(output->ending && output->budget == 0);
}

static int take_turns(struct output *output, unsigned most, struct error *err)
{
	int more = 1;

	while (more > 0 && most-- > 0 && wants_more(output))
		more = take_turn(output, err);
	if (more < 0)
		return -1;
	if (more == 0 && output->ending)
		output->eof = true; /* empty, and nobody who counts can fill it */
	return 0;
}

static int on_readable(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct output *output = userdata;

	(void)events;
	if (take_turns(output, CHUNKS_A_TURN, err) < 0)
		return -1;
	if (!wants_more(output))
		loop_remove(output->loop, source);
	return 0;
}

static int finish_turns(struct output *output, struct error *err)
{
	char *held = output->buffer;

	if (take_turns(output, UINT32_MAX, err) < 0)
		return -1;
	if (output->relayed && !wants_more(output) && !relay_is_clogged(&output->relay))
		return pass_on(output, held, passage_end(&output->passage, held), err);
	return 0;
}

static int on_drained(void *userdata, struct error *err)
{
	struct output *output = userdata;

	if (!output->ending)
		return output->relay.gone ? tell_gone(output, err) : listen_again(output, err);
	if (finish_turns(output, err) < 0)
		return -1;
	return output_is_finished(output) ? output->events->finished(output->events->userdata, err) : 0;
}

int output_open(struct output *output, struct loop *loop, const struct output_route *route,
	const struct output_events *events, char *buffer, struct error *err)
{
	*output = (struct output)OUTPUT_INIT;
	output->loop = loop;
	output->stream = route->stream;
	output->events = events;
	output->buffer = buffer;
	output->relayed = route->consumer_fd >= 0;
	output->passage.cap = route->cap;
	output->passage.closed = route->cap == 0;
	if (!output->relayed)
		keep_init(&output->keep, route->cap);
	else if (relay_open(&output->relay, loop, route->consumer_fd, on_drained, output, err) < 0)
		return -1;
	output->fd = route->fd;
	return listen_again(output, err);
}

int output_finish(struct output *output, struct error *err)
{
	int capacity;

	if (output->fd < 0)
		return 0;
	loop_remove(output->loop, &output->source);
	capacity = fcntl(output->fd, F_GETPIPE_SZ);
	output->budget = capacity > 0 ? (uint64_t)capacity : BUDGET_DEFAULT;
	output->ending = true;
	return finish_turns(output, err);
}

bool output_is_finished(const struct output *output)
{
	return !wants_more(output) && !(output->relayed && relay_is_clogged(&output->relay));
}

int output_result(struct output *output, struct arena *arena, struct outcome_stream *ret_stream, struct error *err)
{
	struct outcome_stream stream = {.bytes = USAGE_UNKNOWN};

	if (output->fd >= 0 && !output->relayed)
		return keep_finish(&output->keep, arena, ret_stream, err);
	if (output->fd >= 0) {
		stream.bytes = output->total;
		stream.omitted_at = output->passage.passed;
		stream.omitted_bytes = output->total - output->passage.passed;
	}
	*ret_stream = stream;
	return 0;
}

void output_close(struct output *output)
{
	if (output->loop != NULL)
		loop_remove(output->loop, &output->source);
	relay_close(&output->relay);
	cleanup_close_fd(&output->null_fd);
	keep_done(&output->keep);
	*output = (struct output)OUTPUT_INIT;
}
