/* Doing many things side by side, a bounded number at a time; the first that fails ends them all. */
#ifndef WORKSPACE_CREW_H
#define WORKSPACE_CREW_H

#include <stddef.h>

#include "base/error.h"
#include "runtime/workspace/work.h"

/* Calls `act` for each index below n, from the calling thread and up to hands - 1 others, in the order of the indices
 * as far as each finds a hand. work: its stop_fd is set while this lasts, and ends what the others do. Returns when
 * none is at work any more: 0, or -1 with the error of the first index that failed by itself. */
must_check int crew_do(size_t n, unsigned hands, int (*act)(void *context, size_t index, struct error *err),
	void *context, struct work *work, struct error *err);

#endif
