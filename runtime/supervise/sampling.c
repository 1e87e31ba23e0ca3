/*
 * Sampling.
 *
 * Where the plan leaves memory, processes or CPU time to the supervisor, the watchdog says how soon the limit could be
 * reached at the earliest, and that is when the next look is due. Where nothing depends on it the looks only feed
 * the usage figures: the first one early, so that short runs have some, then at most one in 50 ms, and never so many
 * that they cost more than a hundredth of a CPU. Looks that hold a limit may cost a fifth, and
 * where the tree makes them dear up to a third: it must not buy itself time in which nobody looks.
 *
 * CPU time is taken from the cgroup where there is one: it counts every process that ever ran, sampled or not.
 */
#include "runtime/supervise/sampling.h"

#include <unistd.h>

#include "base/monotime.h"
#include "runtime/supervise/ending.h"
#include "runtime/supervise/events.h"

#define FIRST_NS        (5 * NS_PER_MS)
#define COARSE_NS       (50 * NS_PER_MS)
#define FINE_NS         (2 * NS_PER_MS)
#define FORK_NS         (50 * NS_PER_MS / 1000) /* what a fork takes at least, by all CPUs together */
#define EVENT_NS        (500 * NS_PER_MS)
#define COARSE_SHARE    100 /* one hundredth of the time */
#define ENFORCING_SHARE 5
#define DEAR_SHARE      2

static bool has_limits(const struct plan *plan)
{
	return plan->watch_memory_bytes != LIMIT_NONE || plan->watch_processes != LIMIT_NONE ||
		plan->watch_cpu_ns != LIMIT_NONE;
}

/* CPU time alone can be had from a cgroup. */
static bool needs_watchdog(const struct supervisor *s)
{
	return s->plan->watch_memory_bytes != LIMIT_NONE || s->plan->watch_processes != LIMIT_NONE ||
		(s->plan->watch_cpu_ns != LIMIT_NONE && s->launched->group == NULL);
}

static int make_watchdog(struct supervisor *s, struct error *err)
{
	const struct launched *l = s->launched;
	const struct watch_sysv sysv = {l->sysvipc_fd, l->sysvipc_sem_fd, l->sysvipc_msg_fd};

	if (s->sampler.watchdog != NULL || l->proc_fd < 0)
		return 0;
	return watchdog_new(l->proc_fd, l->subreaper ? l->pid : 0, l->tmpfs_fds, l->n_tmpfs, &sysv,
		s->plan->watch_memory_bytes, &s->sampler.watchdog, err);
}

static void keep_peaks(struct sampler *sampler)
{
	if (!sampler->sampled || sampler->last.memory_bytes > sampler->memory_peak)
		sampler->memory_peak = sampler->last.memory_bytes;
	if (!sampler->sampled || sampler->last.processes > sampler->processes_peak)
		sampler->processes_peak = sampler->last.processes;
	sampler->sampled = true;
}

/* Looks at the tree, unless nothing depends on it now. */
static int take_sample(struct supervisor *s, struct error *err)
{
	struct watchdog_sample sample = {0};
	uint64_t begin_ns = monotime_ns();

	if (!needs_watchdog(s) && begin_ns < s->sampler.next_look_ns)
		return 0;
	if (make_watchdog(s, err) < 0)
		return -1;
	if (s->sampler.watchdog == NULL)
		return 0;
	if (watchdog_sample(s->sampler.watchdog, &sample, err) < 0)
		return -1;
	s->sampler.last = sample;
	keep_peaks(&s->sampler);
	s->sampler.next_look_ns = monotime_after_ns((monotime_ns() - begin_ns) * COARSE_SHARE);
	return 0;
}

static int read_cpu(struct supervisor *s, uint64_t *ret_ns, struct error *err)
{
	uint64_t user_ns, system_ns;

	*ret_ns = s->sampler.last.cpu_user_ns + s->sampler.last.cpu_system_ns;
	if (s->launched->group == NULL)
		return 0;
	if (group_cpu_usage(s->launched->group, &user_ns, &system_ns, err) < 0)
		return -1;
	*ret_ns = user_ns + system_ns;
	return 0;
}

/* The earliest moment at which all CPUs together can have used up the rest. */
static uint64_t until_cpu_limit(uint64_t limit_ns, uint64_t used_ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t rest = used_ns < limit_ns ? limit_ns - used_ns : 0;

	rest /= cpus > 0 ? (uint64_t)cpus : 1;
	return rest < FINE_NS ? FINE_NS : rest;
}

/* The earliest moment at which forks alone can have passed it. */
static uint64_t until_process_limit(uint64_t limit, uint64_t n)
{
	uint64_t rest = n < limit ? limit - n : 0;

	return rest > COARSE_NS / FORK_NS ? COARSE_NS : rest * FORK_NS < FINE_NS ? FINE_NS : rest * FORK_NS;
}

/* Ends the run where a limit is passed; *interval_ns becomes the time until one could be. */
static int check_limits(struct supervisor *s, uint64_t *interval_ns, struct error *err)
{
	const struct plan *plan = s->plan;
	const struct watchdog_sample *sample = &s->sampler.last;
	uint64_t used_ns, until;

	if (s->sampler.sampled && sample->memory_bytes > plan->watch_memory_bytes)
		return ending_begin(s, END_MEMORY, (double)plan->watch_memory_bytes, (double)sample->memory_bytes, err);
	if (s->sampler.sampled && sample->processes > plan->watch_processes)
		return ending_begin(s, END_PROCESSES, (double)plan->watch_processes, (double)sample->processes, err);
	if (plan->watch_processes != LIMIT_NONE) {
		until = until_process_limit(plan->watch_processes, sample->processes);
		*interval_ns = until < *interval_ns ? until : *interval_ns;
	}
	if (plan->watch_cpu_ns == LIMIT_NONE)
		return 0;
	if (read_cpu(s, &used_ns, err) < 0)
		return -1;
	if (used_ns >= plan->watch_cpu_ns)
		return ending_begin(
			s, END_CPU_TIME, (double)(plan->watch_cpu_ns / NS_PER_MS), (double)(used_ns / NS_PER_MS), err);
	until = until_cpu_limit(plan->watch_cpu_ns, used_ns);
	*interval_ns = until < *interval_ns ? until : *interval_ns;
	return 0;
}

static int tell(struct supervisor *s, uint64_t now_ns, struct error *err)
{
	if (!s->sampler.sampled || !s->facts.started || now_ns - s->sampler.last_event_ns < EVENT_NS)
		return 0;
	s->sampler.last_event_ns = now_ns;
	return event_sample(s, err);
}

static uint64_t first_interval(const struct supervisor *s)
{
	bool soon = s->sampler.enforcing && s->sampler.watchdog != NULL;
	uint64_t ns = soon ? watchdog_interval_ns(s->sampler.watchdog) : COARSE_NS;

	return ns < FIRST_NS ? ns : FIRST_NS;
}

static uint64_t next_interval(const struct supervisor *s, uint64_t wanted_ns, uint64_t cost_ns)
{
	uint64_t least = cost_ns * COARSE_SHARE;

	if (s->sampler.enforcing && s->sampler.watchdog != NULL && watchdog_is_suspicious(s->sampler.watchdog))
		return wanted_ns;
	if (s->sampler.enforcing && cost_ns * (ENFORCING_SHARE - DEAR_SHARE) > COARSE_NS)
		least = cost_ns * DEAR_SHARE + COARSE_NS;
	else if (s->sampler.enforcing)
		least = cost_ns * ENFORCING_SHARE;
	return wanted_ns > least ? wanted_ns : least;
}

/* A look that failed while a limit depends on it: the limit is no longer held, so the run ends; else no more looks.
 * Until the command is executed there is only init's own code, which is closed to us (not dumpable): look again. */
static int cannot_look(struct supervisor *s, const struct error *why, struct error *err)
{
	if (!s->sampler.enforcing)
		return 0;
	return s->facts.started ? ending_fail(s, why, err) : loop_arm(&s->sampler.timer, monotime_after_ns(FINE_NS), err);
}

static int on_timer(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct supervisor *s = userdata;
	uint64_t begin_ns = monotime_ns(), end_ns, interval_ns = COARSE_NS;
	struct error why = {0};

	(void)events;
	if (s->phase >= PHASE_KILLING)
		return 0;
	if (take_sample(s, &why) < 0)
		return cannot_look(s, &why, err);
	if (s->sampler.enforcing && s->sampler.watchdog != NULL)
		interval_ns = watchdog_interval_ns(s->sampler.watchdog);
	if (check_limits(s, &interval_ns, err) < 0)
		return -1;
	end_ns = monotime_ns();
	if (tell(s, end_ns, err) < 0)
		return -1;
	return loop_arm(source, end_ns + next_interval(s, interval_ns, end_ns - begin_ns), err);
}

int sampling_start(struct supervisor *s, struct error *err)
{
	s->sampler.enforcing = has_limits(s->plan);
	if (!s->sampler.enforcing && s->launched->proc_fd < 0)
		return 0;
	if (s->sampler.enforcing && make_watchdog(s, err) < 0)
		return -1;
	if (needs_watchdog(s) && s->sampler.watchdog == NULL)
		return error_set(
			err, ERROR_UNENFORCEABLE, "sampling", "there is no proc by which limits could be watched");
	if (loop_add_timer(s->loop, &s->sampler.timer, on_timer, s, err) < 0)
		return -1;
	return loop_arm(&s->sampler.timer, s->launched->started_ns + first_interval(s), err);
}

void sampling_kill_seen(const struct supervisor *s)
{
	if (s->sampler.watchdog != NULL)
		watchdog_kill(s->sampler.watchdog);
}

void sampling_stop(struct supervisor *s)
{
	loop_remove(s->loop, &s->sampler.timer);
	s->sampler.watchdog = watchdog_free(s->sampler.watchdog);
}
