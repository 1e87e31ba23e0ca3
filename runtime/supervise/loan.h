/* What the command reads of a pipe of the caller's: no more is taken from that pipe than the command takes. */
#ifndef SUPERVISE_LOAN_H
#define SUPERVISE_LOAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"

struct loan {
	struct loop *loop;
	struct loop_source in, out, again;
	int in_fd;   /* our own, of the caller's pipe */
	int out_fd;  /* our own, the writing end of the command's */
	size_t lent; /* bytes that are in both pipes, less what the command has read of them */
	uint64_t lent_ns, pause_ns;
	bool wide, finished;
};
#define LOAN_INIT                                                                                                      \
	{                                                                                                              \
		.in = LOOP_SOURCE_INIT, .out = LOOP_SOURCE_INIT, .again = LOOP_SOURCE_INIT, .in_fd = -1, .out_fd = -1, \
		.finished = true,                                                                                      \
	}

/* in_fd is a pipe and borrowed. out_fd is the writing end of another one, does not block, and is taken, on failure too. */
must_check int loan_open_take(struct loan *loan, struct loop *loop, int in_fd, int out_fd, struct error *err);
/* Takes what was read from the caller's pipe, and closes both. */
void loan_close(struct loan *loan);

#endif
