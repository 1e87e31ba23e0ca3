/* One look at a guarded name, and what is done where it is not as it was. Internal to the guard. */
#ifndef SUPERVISE_GUARD_LOOK_H
#define SUPERVISE_GUARD_LOOK_H

#include "base/loop.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/asides.h"
#include "runtime/supervise/guard.h"
#include "runtime/supervise/guard_roots.h"
#include "runtime/supervise/violations.h"

struct guard {
	const struct plan *plan;
	struct guard_hooks hooks;
	struct loop *loop;
	struct violations *violations;
	struct loop_source again;
	struct watcher *watcher;
	struct guard_roots roots;
	struct asides asides;
	const struct plan_guard *early; /* before it is armed: a name that is there */
	bool has_links;                 /* that are to stay */
	bool armed;                     /* the command may have started: what appears is its doing */
	bool finishing;                 /* the tree is dead */
	bool last;                      /* and what cannot be removed now never will be */
	bool polling;                   /* inotify is not to be had: look every few milliseconds */
	bool unfinished;                /* the last look left something */
};

/* Watches the directories on the way to the i-th guarded name, and puts it right where the guard is armed; *budget is
 * what may be removed for it. What remains to be done is told by guard->unfinished, or guard->early. */
must_check int guard_look_along(struct guard *guard, size_t i, size_t *budget, struct error *err);

#endif
