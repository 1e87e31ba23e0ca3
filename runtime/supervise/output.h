/* One output stream of the command, from its pipe (or terminal) to where it is kept or passed on. */
#ifndef SUPERVISE_OUTPUT_H
#define SUPERVISE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/loop.h"
#include "runtime/supervise/keep.h"
#include "runtime/supervise/outcome.h"
#include "runtime/supervise/passage.h"
#include "runtime/supervise/relay.h"

struct output_route {
	int fd; /* non-blocking, borrowed */
	int stream;
	int consumer_fd; /* where it is passed on to, -1: kept */
	uint64_t cap;    /* in bytes, UINT64_MAX: none */
};

/* What an output tells its owner. */
struct output_events {
	/* Bytes, after the cap has been applied where they are relayed. */
	int (*chunk)(void *userdata, int stream, const char *data, size_t size, struct error *err);
	/* Nobody takes what the command has just written: sys_errno says why (EPIPE: the reader closed). */
	int (*consumer_gone)(void *userdata, int stream, int sys_errno, struct error *err);
	/* After output_finish: everything has been passed on. */
	int (*finished)(void *userdata, struct error *err);
	void *userdata;
};

struct output {
	struct loop *loop;
	struct loop_source source;
	int fd; /* borrowed read end, -1: this stream is not ours */
	int stream;
	bool relayed;
	bool eof;
	bool ending; /* the tree is dead: at most `budget` more bytes can be ours */
	uint64_t budget;
	uint64_t total;
	int null_fd; /* where bytes beyond the cap go unread, -1: not opened yet */
	struct keep keep;
	struct passage passage;
	struct relay relay;
	const struct output_events *events;
	char *buffer; /* borrowed, OUTPUT_BUFFER_SIZE */
};

#define OUTPUT_CHUNK       65536
#define OUTPUT_BUFFER_SIZE (2 * OUTPUT_CHUNK + 8)
#define OUTPUT_INIT                                                                       \
	{                                                                                 \
		.source = LOOP_SOURCE_INIT, .fd = -1, .null_fd = -1, .relay = {.fd = -1}, \
	}

must_check int output_open(struct output *output, struct loop *loop, const struct output_route *route,
	const struct output_events *events, char *buffer, struct error *err);
/* To be called when no writer is left that counts: takes what the pipe still holds, never waiting for end of file. */
must_check int output_finish(struct output *output, struct error *err);
/* After output_finish: false while a slow consumer has not taken everything. */
bool output_is_finished(const struct output *output);
/* Its data live as long as the arena. */
must_check int output_result(
	struct output *output, struct arena *arena, struct outcome_stream *ret_stream, struct error *err);
void output_close(struct output *output);

#endif
