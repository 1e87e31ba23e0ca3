/* What the command reads: bytes of the caller's, or what comes from a descriptor of the caller's (terminals). */
#ifndef SUPERVISE_FEED_H
#define SUPERVISE_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"

#define FEED_BUFFER_SIZE 4096

enum feed_end {
	FEED_END_CLOSE, /* a pipe: its end of file is the closing of our end */
	FEED_END_VEOF   /* a terminal: its end of file is a character */
};

struct feed {
	struct loop *loop;
	struct loop_source in, out;
	int in_fd;  /* our own, -1: none, or it has ended */
	int out_fd; /* our own */
	bool in_pollable, in_blocking;
	enum feed_end end;
	bool finished;
	const char *data; /* what is to be written next: borrowed, or in buffer */
	size_t size;
	char last; /* the last byte that was written */
	char buffer[FEED_BUFFER_SIZE];
};
#define FEED_INIT                                                                                             \
	{                                                                                                     \
		.in = LOOP_SOURCE_INIT, .out = LOOP_SOURCE_INIT, .in_fd = -1, .out_fd = -1, .finished = true, \
	}

/* Feeds `size` bytes of data (borrowed until the end), then what in_fd gives (borrowed; -1: nothing), to out_fd, which
 * must not block and is taken, on failure too. A reader that goes away is no error. */
must_check int feed_open_take(struct feed *feed, struct loop *loop, const void *data, size_t size, int in_fd,
	int out_fd, enum feed_end end, struct error *err);
void feed_close(struct feed *feed);

#endif
