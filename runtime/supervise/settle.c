/*
 * The outcome: how it ended, what it used, what was touched.
 *
 * The status is the reason for which the supervisor ended the tree, where it did; else what init reported of the
 * command; else, where init died without a word, how init died. What it used is settle_usage.c's.
 */
#include "runtime/supervise/settle.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/monotime.h"
#include "runtime/supervise/events.h"
#include "runtime/supervise/exec_failure.h"
#include "runtime/supervise/process_names.h"
#include "runtime/supervise/settle_usage.h"

#define RUN_ID_BYTES      16
#define SHELL_SIGNAL_BASE 128
#define TICKS_NS          (100 * NS_PER_MS) /* by how much the kernel's two ways to count CPU time may differ */

int settle_init(struct supervisor *s, struct error *err)
{
	unsigned char id[RUN_ID_BYTES];

	if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
		return error_set(err, ERROR_INTERNAL, "run id", "no random bytes");
	for (size_t i = 0; i < sizeof id; i++)
		(void)snprintf(s->outcome.run_id + 2 * i, 3, "%02x", id[i]);
	s->outcome.started_at_ns = realtime_ns();
	return arena_new(&s->outcome.arena, err);
}

/* The proc is the host's, so its list is not ours: init says whom it could not end. */
static int name_left(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;
	const char **slot = arena_push(outcome->arena, &outcome->unkillable, &outcome->n_unkillable);

	if (slot == NULL)
		return error_no_memory(err);
	*slot = s->facts.finish.left > 0 ? arena_strdup(outcome->arena, s->facts.finish.text)
					 : arena_printf(outcome->arena, "pinfold-init (%d)", (int)s->launched->pid);
	return *slot == NULL ? error_no_memory(err) : 0;
}

int settle_unkillable(struct supervisor *s, struct error *err)
{
	if (!plan_is_confined(s->plan))
		return name_left(s, err);
	return process_names(
		s->launched->proc_fd, s->outcome.arena, &s->outcome.unkillable, &s->outcome.n_unkillable, err);
}

static const struct plan_rlimit *find_rlimit(const struct plan *plan, int resource)
{
	for (size_t i = 0; i < plan->n_rlimits; i++) {
		if (plan->rlimits[i].resource == resource && plan->rlimits[i].value.rlim_cur != RLIM_INFINITY)
			return &plan->rlimits[i];
	}
	return NULL;
}

static void set_limit(struct outcome *outcome, const char *name, double limit, double actual)
{
	outcome->limit_name = name;
	outcome->limit_value = limit;
	outcome->limit_actual = actual;
}

static void settle_wait_status(struct outcome *outcome, int status)
{
	if (WIFEXITED(status)) {
		outcome->has_exit_code = true;
		outcome->exit_code = WEXITSTATUS(status);
	} else if (WIFSIGNALED(status)) {
		outcome->signal = WTERMSIG(status);
		outcome->core_dumped = WCOREDUMP(status) != 0;
	}
}

/* The kernel's own limit for each process is later than the one that was asked for, or earlier where ours was lowered. */
static uint64_t cpu_limit_ns(const struct plan *plan)
{
	const struct plan_rlimit *cpu = find_rlimit(plan, RLIMIT_CPU);
	uint64_t ns = cpu == NULL ? LIMIT_NONE : (uint64_t)cpu->value.rlim_cur * NS_PER_S;

	return cpu != NULL && plan->watch_cpu_ns < ns ? plan->watch_cpu_ns : ns;
}

/* The main command's own time, as the kernel compared it. */
static bool cpu_time_is_used(const struct supervisor *s)
{
	uint64_t limit_ns = cpu_limit_ns(s->plan);

	return limit_ns != LIMIT_NONE && s->facts.exit.main_limited_ns + TICKS_NS >= limit_ns;
}

/* A child's time is known by how long it really ran alone, which can be well below what the kernel compared. */
static bool child_may_have_used_cpu_time(const struct supervisor *s)
{
	uint64_t limit_ns = cpu_limit_ns(s->plan);
	uint64_t used_ns = s->facts.exit.cpu_user_ns + s->facts.exit.cpu_system_ns;

	return limit_ns != LIMIT_NONE && used_ns >= limit_ns / 2;
}

static void settle_own_end(struct supervisor *s)
{
	struct outcome *outcome = &s->outcome;
	const struct plan_rlimit *file = find_rlimit(s->plan, RLIMIT_FSIZE);

	outcome->status = outcome->has_exit_code ? OUTCOME_EXITED : OUTCOME_SIGNALED;
	if (outcome->signal == SIGXFSZ && file != NULL)
		set_limit(outcome, "file_size", (double)file->value.rlim_cur, (double)file->value.rlim_cur);
	/* The kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one, and anybody may send them at any time. */
	if ((outcome->signal != SIGXCPU && outcome->signal != SIGKILL) || !cpu_time_is_used(s))
		return;
	outcome->status = OUTCOME_CPU_TIME_EXCEEDED;
	set_limit(outcome, "cpu_time", (double)(cpu_limit_ns(s->plan) / NS_PER_MS),
		(double)(s->facts.exit.main_limited_ns / NS_PER_MS));
}

/* init ended without having said how the command ended. */
static void settle_silence(struct supervisor *s)
{
	struct outcome *outcome = &s->outcome;

	if (!s->facts.reaped || WIFSIGNALED(s->facts.init_status)) {
		outcome->status = OUTCOME_SIGNALED;
		outcome->signal = s->facts.reaped ? WTERMSIG(s->facts.init_status) : SIGKILL;
		return;
	}
	outcome->status = OUTCOME_SETUP_FAILED;
	(void)error_set(&outcome->error, ERROR_INTERNAL, "init",
		"the sandbox's init ended with status %d and no report", WEXITSTATUS(s->facts.init_status));
}

static enum outcome_status status_of(enum end_cause cause)
{
	static const enum outcome_status statuses[_END_COUNT] = {
		[END_NONE] = OUTCOME_EXITED,
		[END_WALL_TIME] = OUTCOME_TIMED_OUT,
		[END_CPU_TIME] = OUTCOME_CPU_TIME_EXCEEDED,
		[END_MEMORY] = OUTCOME_OUT_OF_MEMORY,
		[END_MEMORY_OUTSIDE] = OUTCOME_OUT_OF_MEMORY,
		[END_PROCESSES] = OUTCOME_SIGNALED,
		[END_CANCEL] = OUTCOME_CANCELLED,
		[END_CONSUMER] = OUTCOME_SIGNALED,
		[END_FAILURE] = OUTCOME_SIGNALED,
	};

	return statuses[cause];
}

static void settle_cause(struct supervisor *s)
{
	struct outcome *outcome = &s->outcome;

	outcome->status = status_of(s->cause);
	set_limit(outcome, end_cause_limit_name(s->cause), s->limit_value, s->limit_actual);
	if (!s->facts.exited)
		outcome->signal = SIGKILL;
	if (outcome->status == OUTCOME_SIGNALED) { /* whatever the command made of it, we ended it */
		outcome->has_exit_code = false;
		outcome->signal = s->cause == END_CONSUMER && s->failure.code == ERROR_NONE ? SIGPIPE : SIGKILL;
	}
}

/* init keeps the deadline too, for a supervisor that was stopped. A command that had ended before it has met no limit,
 * even where what it left behind took until then to die. */
static void settle_missed_deadline(struct supervisor *s)
{
	if (s->cause != END_NONE || !s->facts.finished || s->facts.finish.deadline == 0)
		return;
	if (s->facts.exited && s->outcome.wall_ns < s->plan->wall_ns)
		return;
	s->cause = END_WALL_TIME;
	s->limit_value = (double)(s->plan->wall_ns / NS_PER_MS);
	s->limit_actual = (double)(s->outcome.wall_ns / NS_PER_MS);
}

/* The kernel counted it: a memory limit of the group kills all of it at once, and init, which would tell, with it.
 * Where the command had ended before, what was left of the tree has met the limit, and the end is the command's own. */
static bool was_killed_for_memory(const struct supervisor *s)
{
	const struct group_figures *figures = &s->facts.figures;
	bool own_end = s->facts.exited &&
		!(WIFSIGNALED(s->facts.exit.wait_status) && WTERMSIG(s->facts.exit.wait_status) == SIGKILL);

	return s->facts.counted && figures->memory_oom_kills != GROUP_UNKNOWN && figures->memory_oom_kills > 0 &&
		!own_end;
}

static int settle_memory(struct supervisor *s, struct error *err)
{
	const struct group_figures *figures = &s->facts.figures;
	bool limited = s->plan->group_limits.memory_bytes != GROUP_NO_LIMIT;

	if (s->launched->group == NULL)
		return 0;
	group_read_figures(s->launched->group, &s->facts.figures);
	s->facts.counted = true;
	if (s->cause != END_NONE || !was_killed_for_memory(s))
		return 0;
	/* Killed without its own limit met: the machine, or a group further up, ran out. */
	s->cause = limited && figures->memory_oom != GROUP_UNKNOWN && figures->memory_oom > 0 ? END_MEMORY
											      : END_MEMORY_OUTSIDE;
	if (s->cause == END_MEMORY_OUTSIDE)
		return 0;
	s->limit_value = (double)s->plan->memory_bytes;
	s->limit_actual = s->limit_value;
	if (figures->memory_peak_bytes != GROUP_UNKNOWN && (double)figures->memory_peak_bytes > s->limit_actual)
		s->limit_actual = (double)figures->memory_peak_bytes;
	return event_limit(s, err);
}

static void settle_status(struct supervisor *s)
{
	settle_missed_deadline(s);
	if (s->facts.exec_failed) {
		s->outcome.status = OUTCOME_SETUP_FAILED;
		exec_failure_explain(&s->facts.exec_failure, s->plan->argv[0], &s->outcome.error);
		return;
	}
	if (s->facts.exited)
		settle_wait_status(&s->outcome, s->facts.exit.wait_status);
	if (s->cause != END_NONE)
		settle_cause(s);
	else if (s->facts.exited)
		settle_own_end(s);
	else
		settle_silence(s);
	if (s->failure.code != ERROR_NONE) /* of a consumer, perhaps after the command's own end */
		s->outcome.error = s->failure;
}

static int touch(struct outcome *outcome, const char *name, struct error *err)
{
	const char **slot = arena_push(outcome->arena, &outcome->limits_touched, &outcome->n_limits_touched);

	if (slot == NULL)
		return error_no_memory(err);
	*slot = name;
	return 0;
}

/* A shell reports the signal that ended its child as 128+n. */
static bool child_ended_by(const struct outcome *outcome, int signo)
{
	return outcome->status == OUTCOME_EXITED && outcome->exit_code == SHELL_SIGNAL_BASE + signo;
}

static bool held_by_group(const struct supervisor *s)
{
	return s->facts.counted && s->plan->group_limits.processes != GROUP_NO_LIMIT &&
		s->facts.figures.forks_refused != GROUP_UNKNOWN;
}

/* One process alone has met no limit of processes, even where it may have no second. */
static bool processes_were_used_up(const struct supervisor *s)
{
	uint64_t most = s->plan->processes_max;

	if (held_by_group(s))
		return s->facts.figures.forks_refused > 0;
	return most != LIMIT_NONE && most > 1 && s->sampler.sampled && s->sampler.processes_peak >= most;
}

static int settle_touched(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;

	if (processes_were_used_up(s) && touch(outcome, "processes", err) < 0)
		return -1;
	if (outcome->n_limits_touched > 0 && !held_by_group(s) && settle_mark_sampled(outcome, "limits_touched", err) < 0)
		return -1;
	if (s->cause != END_MEMORY && s->facts.counted && s->plan->group_limits.memory_bytes != GROUP_NO_LIMIT &&
		s->facts.figures.memory_oom_kills != GROUP_UNKNOWN && s->facts.figures.memory_oom_kills > 0 &&
		touch(outcome, "memory", err) < 0)
		return -1;
	if (child_ended_by(outcome, SIGXFSZ) && find_rlimit(s->plan, RLIMIT_FSIZE) != NULL &&
		touch(outcome, "file_size", err) < 0)
		return -1;
	if (child_ended_by(outcome, SIGXCPU) && child_may_have_used_cpu_time(s) && touch(outcome, "cpu_time", err) < 0)
		return -1;
	return 0;
}

/* Without a pid namespace the empty group is the proof that nothing is left. */
static int prove_dead(struct supervisor *s, struct error *err)
{
	if (s->launched->group == NULL || (s->plan->namespaces & CLONE_NEWPID) != 0 || s->outcome.n_unkillable > 0)
		return 0;
	return group_remove(s->launched->group, err);
}

int settle(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;

	outcome->wall_ns = (s->ended_ns == 0 ? monotime_ns() : s->ended_ns) - s->launched->started_ns;
	if (settle_memory(s, err) < 0)
		return -1;
	settle_status(s);
	if (settle_usage(s, err) < 0 || settle_touched(s, err) < 0 || prove_dead(s, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (output_result(&s->outputs[i], outcome->arena, &outcome->streams[i], err) < 0)
			return -1;
	}
	if (outcome->error.code != ERROR_NONE && outcome->error.op[0] == '\0')
		(void)snprintf(outcome->error.op, sizeof outcome->error.op, "run");
	outcome->survivors_killed = s->facts.finished ? s->facts.finish.survivors : 0;
	outcome->violations = s->violations.list;
	outcome->n_violations = s->violations.n;
	return event_exited(s, err);
}
