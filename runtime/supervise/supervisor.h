/*
 * Watches one run until its whole tree is dead: output with caps, stdin, deadlines, cancellation, watchdog, guards,
 * mount monitor. Single-threaded, driven by supervisor_dispatch(); never blocks.
 */
#ifndef SUPERVISE_SUPERVISOR_H
#define SUPERVISE_SUPERVISOR_H

#include "base/cleanup.h"
#include "base/error.h"
#include "runtime/launch/launched.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/outcome.h"

struct supervisor;

struct supervisor_hooks {
	/* output as it comes, after the cap has been applied for RELAY; stream 1 or 2 */
	void (*output)(void *userdata, int stream, const void *data, size_t size);
	void *output_userdata;
	/* events as JSON text */
	void (*event)(void *userdata, const char *json);
	void *event_userdata;
};

/* Launches the plan and starts watching. The plan must outlive the supervisor. */
must_check int supervisor_start(const struct plan *plan, struct supervisor **ret_supervisor, struct error *err);
void supervisor_set_hooks(struct supervisor *supervisor, const struct supervisor_hooks *hooks);
int supervisor_fd(const struct supervisor *supervisor); /* poll it for POLLIN */
/* 1: over, the tree is dead; 0: go on. timeout_ms as in epoll_wait. */
must_check int supervisor_dispatch(struct supervisor *supervisor, int timeout_ms, struct error *err);
/* Async-signal-safe, from any thread, idempotent. */
void supervisor_cancel(struct supervisor *supervisor);
/* The descriptor to which supervisor_cancel() writes, an eventfd; a duplicate of it may be written to at any time, even
 * when the supervisor is gone. */
int supervisor_cancel_fd(const struct supervisor *supervisor);
must_check int supervisor_resize(struct supervisor *supervisor, unsigned rows, unsigned columns, struct error *err);
/* After dispatch returned 1; lives as long as the supervisor. */
const struct outcome *supervisor_outcome(const struct supervisor *supervisor);
/* After the end: gives up every descriptor and the cgroup; only the outcome stays. */
void supervisor_release(struct supervisor *supervisor);
/* Kills the tree where it lives, removes the cgroup. */
struct supervisor *supervisor_free(struct supervisor *supervisor);
CLEANUP_DEFINE(struct supervisor, supervisor_free)

#endif
