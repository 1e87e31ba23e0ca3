/* Repositories that the command has made where host-side git would go into them by itself. */
#ifndef SUPERVISE_GITLINKS_H
#define SUPERVISE_GITLINKS_H

#include "base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/guard.h"
#include "runtime/supervise/violations.h"

/* To be called when the tree is dead: sets them aside, nothing is deleted, and records that. What cannot be set aside
 * is told by the hook. */
must_check int gitlinks_finish(
	const struct plan *plan, struct violations *violations, const struct guard_hooks *hooks, struct error *err);

#endif
