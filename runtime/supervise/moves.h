/* Whether a directory above a mask or a protection may have been renamed on the host. */
#ifndef SUPERVISE_MOVES_H
#define SUPERVISE_MOVES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/watcher.h"

struct moves {
	struct loop_source timer; /* for the first watch, and where not all can be watched */
	const struct plan *plan;
	struct watcher *watcher;
	struct loop *loop;
	struct move_place *places; /* the plan's ancestors as they were at the start; NULL once they are watched */
	bool seen;
};

#define MOVES_INIT                        \
	{                                 \
		.timer = LOOP_SOURCE_INIT \
	}

struct move_place {
	dev_t device;
	ino_t inode;
	bool known;
};

/* To be made before the launch; plan, watcher and loop are borrowed. */
must_check int moves_start(
	struct moves *moves, const struct plan *plan, struct watcher *watcher, struct loop *loop, struct error *err);
/* *ret_seen is true once for each time. */
must_check int moves_take(struct moves *moves, bool *ret_seen, struct error *err);
/* For a run that ends before anything was watched: *ret_seen is true where a directory is not the one of the start. */
must_check int moves_look(struct moves *moves, bool *ret_seen, struct error *err);
void moves_stop(struct moves *moves);

#endif
