/*
 * Guarding names that do not exist.
 *
 * A protected path that exists is held by a mount. One that does not exist cannot be: a placeholder would be seen in
 * the caller's own tree. So the directories on the way to it are watched with inotify, and when anything appears in one
 * of them every guarded name is looked at again; what has been planted is removed and reported. inotify only says "look
 * again": its events are not trusted to be complete, its overflow needs no care, and the last look comes after the tree
 * is dead. How long a planted name can be seen by the host is in docs/threat-model.md. What a look does is in
 * guard_look.c. A protected name that is a symbolic link cannot be held by a mount either: it is put back where it is
 * replaced.
 *
 * Fallback: inotify instances are few (128 a user by default). Without one, or without a watch, the names are looked at
 * every 5 ms.
 * Race: other runs may work in the same workspace, and one that starts while another's plant is there must neither take
 * it for the caller's nor fail. So each run claims the names that it keeps absent (base/name_claim.h). The plan of
 * another waits for a name that is claimed to be gone, and so does the first look here. Each guard removes and
 * reports what it sees, whoever has planted it: to leave that to another run would be to trust that it lives.
 */
#include "runtime/supervise/guard.h"

#include <stdlib.h>
#include <time.h>

#include "base/monotime.h"
#include "runtime/supervise/asides.h"
#include "runtime/supervise/guard_look.h"

#define SCAN_BUDGET   4096 /* names removed in one look, so that the loop goes on */
#define FINISH_BUDGET 16384
#define FINISH_NS     (3 * NS_PER_S)
#define AGAIN_NS      NS_PER_MS
#define POLL_NS       (5 * NS_PER_MS)
#define SETTLE_NS     (2 * NS_PER_S)
#define FINISH_LOOKS  3

static int look_at_all(struct guard *guard, size_t *budget, struct error *err)
{
	int r;

	guard->unfinished = false;
	guard_roots_begin(&guard->roots);
	for (size_t i = 0; i < guard->plan->n_guards; i++) {
		if (guard_look_along(guard, i, budget, err) < 0)
			return -1;
	}
	r = asides_delete(&guard->asides, budget, guard->last, err);
	guard->unfinished |= r > 0;
	return r < 0 ? -1 : 0;
}

static int scan(struct guard *guard, struct error *err)
{
	size_t budget = SCAN_BUDGET;

	if (look_at_all(guard, &budget, err) < 0)
		return -1;
	if (guard->unfinished)
		return loop_arm(&guard->again, monotime_after_ns(AGAIN_NS), err);
	return guard->polling ? loop_arm(&guard->again, monotime_after_ns(POLL_NS), err) : 0;
}

static int on_change(void *userdata, uint32_t seen, struct error *err)
{
	(void)seen;
	return scan(userdata, err);
}

static int on_again(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return scan(userdata, err);
}

static int appeared_too_early(const struct plan_guard *what, struct error *err)
{
	(void)error_set(err, ERROR_UNENFORCEABLE, "guard", "%s/%s appeared while the run was being prepared",
		what->root, what->relative);
	error_set_fix(err, "start the run again");
	if (err != NULL)
		err->retryable = ERROR_RETRY_YES;
	return -1;
}

/* The first look. What is there already nobody may remove but a run that has seen the name absent: where there is one,
 * it will. */
static int settle(struct guard *guard, struct error *err)
{
	const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};
	uint64_t end_ns = monotime_after_ns(SETTLE_NS);

	for (;;) {
		guard->early = NULL;
		if (scan(guard, err) < 0)
			return -1;
		if (guard->early == NULL)
			return 0;
		if (monotime_ns() > end_ns ||
			!guard_roots_is_claimed(&guard->roots, guard->plan, (size_t)(guard->early - guard->plan->guards)))
			return appeared_too_early(guard->early, err);
		(void)nanosleep(&pause, NULL);
	}
}

static int start(struct guard *guard, struct error *err)
{
	for (size_t i = 0; i < guard->plan->n_guards; i++)
		guard->has_links |= guard->plan->guards[i].link != NULL;
	watcher_listen(guard->watcher, on_change, guard);
	guard_roots_claim(&guard->roots, guard->plan);
	if (loop_add_timer(guard->loop, &guard->again, on_again, guard, err) < 0 || settle(guard, err) < 0)
		return -1;
	guard->armed = true;
	return 0;
}

int guard_new(const struct plan *plan, struct loop *loop, struct watcher *watcher, struct violations *violations,
	const struct guard_hooks *hooks, struct guard **ret_guard, struct error *err)
{
	cleanup_with(guard_freep) struct guard *guard = NULL;

	if (plan->n_guards == 0) {
		*ret_guard = NULL;
		return 0;
	}
	guard = calloc(1, sizeof *guard);
	if (guard == NULL)
		return error_no_memory(err);
	*guard = (struct guard){.plan = plan,
		.hooks = *hooks,
		.asides = {.plan = plan, .violations = violations},
		.loop = loop,
		.violations = violations,
		.watcher = watcher,
		.again = LOOP_SOURCE_INIT};
	if (guard_roots_open(&guard->roots, plan, err) < 0 || start(guard, err) < 0)
		return -1;
	*ret_guard = steal_ptr(&guard);
	return 0;
}

/* Threat: a tree that was planted in the last moment may be so large that deleting it would hold up the result: what is
 * left of it after a while stays aside, and is told. */
int guard_finish(struct guard *guard, struct error *err)
{
	uint64_t end_ns = monotime_after_ns(FINISH_NS);
	bool cut = false; /* by the budget, in the last look */

	if (guard == NULL)
		return 0;
	watcher_forget(guard->watcher, guard);
	loop_remove(guard->loop, &guard->again);
	guard->unfinished = guard->finishing = true;
	for (unsigned i = 1; !guard->last && (guard->unfinished || guard->asides.n > 0); i++) {
		size_t budget = FINISH_BUDGET;

		guard->last = i >= FINISH_LOOKS && (!cut || monotime_ns() >= end_ns);
		if (look_at_all(guard, &budget, err) < 0)
			return -1;
		cut = budget == 0;
	}
	return 0;
}

struct guard *guard_free(struct guard *guard)
{
	if (guard == NULL)
		return NULL;
	watcher_forget(guard->watcher, guard);
	loop_remove(guard->loop, &guard->again);
	asides_close(&guard->asides);
	guard_roots_close(&guard->roots);
	free(guard);
	return NULL;
}
