/* Protected names that did not exist at launch: removed again where the command plants them. */
#ifndef SUPERVISE_GUARD_H
#define SUPERVISE_GUARD_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/loop.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/violations.h"
#include "runtime/supervise/watcher.h"

struct guard;

struct guard_hooks {
	/* A name that cannot be put right: why, as a whole error record. Must end the run, as a failure. Called at the
	 * last look too. */
	int (*lost)(void *userdata, const struct error *why, struct error *err);
	void *userdata;
};

/* To be made before the launch. plan, loop, watcher and violations are borrowed. *ret_guard is NULL where the plan
 * guards nothing. */
must_check int guard_new(const struct plan *plan, struct loop *loop, struct watcher *watcher,
	struct violations *violations, const struct guard_hooks *hooks, struct guard **ret_guard, struct error *err);
/* The last look, after the tree is dead: goes on until everything planted is gone or cannot be removed. */
must_check int guard_finish(struct guard *guard, struct error *err);
struct guard *guard_free(struct guard *guard);
CLEANUP_DEFINE(struct guard, guard_free)

#endif
