/* The first half and the last half of a stream, in memory that never grows beyond the cap (and three bytes). */
#ifndef SUPERVISE_KEEP_H
#define SUPERVISE_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/supervise/outcome.h"

struct keep {
	uint64_t head_max; /* stream positions below it stay where they are */
	uint64_t tail_max; /* what of the end may be kept; 0 with head_max 0: nothing is kept */
	uint64_t total;    /* bytes seen */
	char *data;
	size_t allocated;
};

/* cap UINT64_MAX: everything is kept. Zeroed is a valid keep of cap 0. */
void keep_init(struct keep *keep, uint64_t cap);
void keep_done(struct keep *keep);
must_check int keep_add(struct keep *keep, const void *data, size_t size, struct error *err);
/* Writes what was kept, cut at character boundaries, to ret_stream; its data lives as long as the arena. */
must_check int keep_finish(
	const struct keep *keep, struct arena *arena, struct outcome_stream *ret_stream, struct error *err);

#endif
