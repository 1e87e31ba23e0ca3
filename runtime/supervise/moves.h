/* Whether a directory above a mask or a protection may have been renamed on the host. */
#ifndef SUPERVISE_MOVES_H
#define SUPERVISE_MOVES_H

#include <stdbool.h>

#include "base/loop.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/watcher.h"

struct moves {
	struct loop_source timer; /* where not all can be watched */
	const struct plan *plan;
	struct watcher *watcher;
	struct loop *loop;
	bool seen;
};

#define MOVES_INIT                        \
	{                                 \
		.timer = LOOP_SOURCE_INIT \
	}

/* To be made before the launch; plan, watcher and loop are borrowed. */
must_check int moves_start(
	struct moves *moves, const struct plan *plan, struct watcher *watcher, struct loop *loop, struct error *err);
/* *ret_seen is true once for each time. */
must_check int moves_take(struct moves *moves, bool *ret_seen, struct error *err);
void moves_stop(struct moves *moves);

#endif
