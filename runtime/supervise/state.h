/*
 * One run while it is watched: what supervisor.c (the wiring), ending.c (the ends), sampling.c (limits that are looked
 * at) and settle.c (the outcome) share. Private to supervise.
 */
#ifndef SUPERVISE_STATE_H
#define SUPERVISE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "cgroup/group.h"
#include "cgroup/watchdog.h"
#include "runtime/launch/launched.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/feed.h"
#include "runtime/supervise/given.h"
#include "runtime/supervise/guard.h"
#include "runtime/supervise/loan.h"
#include "runtime/supervise/mount_monitor.h"
#include "runtime/supervise/moves.h"
#include "runtime/supervise/outcome.h"
#include "runtime/supervise/output.h"
#include "runtime/supervise/supervisor.h"
#include "runtime/supervise/violations.h"

/* Why the supervisor ended the tree; NONE where it ended by itself. */
enum end_cause {
	END_NONE,
	END_WALL_TIME,
	END_CPU_TIME,
	END_MEMORY,
	END_MEMORY_OUTSIDE, /* killed by the kernel for a lack that is not the run's own limit */
	END_PROCESSES,
	END_CANCEL,
	END_CONSUMER, /* nobody reads the output any more */
	END_FAILURE,  /* the boundary or a limit could not be held: see failure */
	_END_COUNT
};

/* In this order; each begins with what ending.c does on entering it. */
enum run_phase {
	PHASE_RUNNING,
	PHASE_LEAVING,     /* the command ended, init kills what is left */
	PHASE_TERMINATING, /* SIGTERM was sent, SIGKILL follows */
	PHASE_KILLING,     /* SIGKILL was sent */
	PHASE_FLUSHING,    /* the tree is dead, a slow consumer has not taken all output */
	PHASE_DONE
};

/* What init told, and how it ended itself. */
struct run_facts {
	bool started, exec_failed, exited, finished, reaped;
	struct init_event exec_failure;
	struct init_event exit;
	struct init_event finish;
	int init_status;
	bool counted; /* figures has been read */
	struct group_figures figures;
};

struct sampler {
	struct loop_source timer;
	struct watchdog *watchdog; /* NULL: not needed yet, or nothing to look at */
	bool enforcing;            /* a limit depends on it */
	bool sampled;
	struct watchdog_sample last;
	uint64_t memory_peak, processes_peak;
	uint64_t next_look_ns; /* where only CPU time is enforced, and by the cgroup: the next look at the tree */
	uint64_t last_event_ns;
};

struct supervisor {
	const struct plan *plan;
	struct launched *launched;
	struct loop *loop;
	struct supervisor_hooks hooks;
	int cancel_fd;
	struct loop_source control, death, cancel, wall, escalation;
	struct output outputs[2];
	struct output_events output_events;
	bool started_told; /* as an event */
	struct feed feed;
	struct loan loan;
	struct given given;
	struct watcher *watcher;
	struct guard *guard;
	struct guard_hooks guard_hooks;
	struct moves moves;
	struct mount_monitor *monitor;
	struct sampler sampler;
	struct violations violations;
	char *buffer;

	enum run_phase phase;
	enum end_cause cause;
	double limit_value, limit_actual; /* of the cause: ms, bytes or a count */
	struct error failure;             /* END_FAILURE, and a consumer that failed */
	struct run_facts facts;
	uint64_t ended_ns;
	struct outcome outcome;
};

#endif
