/*
 * Long work on files, as all of runtime/workspace does it: who is told how far it is, how it is ended early, and what
 * it may use up. One struct work goes through everything that one call of the library does, threads included; what it
 * counts is the sum of them all.
 */
#ifndef WORKSPACE_WORK_H
#define WORKSPACE_WORK_H

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WORK_NO_LIMIT UINT64_MAX
#define WORK_FDS_MAX  2

struct work {
	/* Told by whichever thread counted, one at a time; NULL: nobody wants to know. Totals so far. */
	void (*tell)(void *context, uint64_t files, uint64_t bytes);
	void *context;
	int cancel_fd; /* readable: the caller wants it to end; borrowed, and never read; -1: none */
	int stop_fd;   /* the same, of who does several works side by side, where one of them failed; -1: none */
	uint64_t files_max, bytes_max;
	atomic_uint_fast64_t files, bytes; /* so far; directories count as files */
	atomic_uint_fast64_t unasked;      /* of work since work_count last looked for a cancellation */
	atomic_flag telling;
};

#define WORK_INIT                                                                                       \
	{                                                                                               \
		.cancel_fd = -1, .stop_fd = -1, .files_max = WORK_NO_LIMIT, .bytes_max = WORK_NO_LIMIT, \
		.telling = ATOMIC_FLAG_INIT                                                             \
	}

/* -1 with ERROR_CANCELLED once either descriptor is readable. To be asked before each file and each mebibyte or so. */
must_check int work_check(struct work *work, struct error *err);
/* Counts what was just done, tells it, and does work_check now and then: after some files, or a mebibyte. Above a
 * maximum: -1 with ERROR_LIMIT; `what` names the file in that message. */
must_check int work_count(struct work *work, uint64_t files, uint64_t bytes, const char *what, struct error *err);
/* The refusal of something whose length alone is above bytes_max; returns -1. */
int work_refuse_bytes(const struct work *work, uint64_t actual, const char *what, struct error *err);
/* What a loop of one's own has to poll for (POLLIN) beside its descriptors; the number of them. */
size_t work_poll_fds(const struct work *work, struct pollfd fds[WORK_FDS_MAX]);

#endif
