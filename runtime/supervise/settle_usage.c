/*
 * The figures. What the kernel counted for the whole tree (a cgroup's) is exact; all others are marked as sampled, and
 * what nobody measured stays unknown: never zero.
 */
#include "runtime/supervise/settle_usage.h"

int settle_mark_sampled(struct outcome *outcome, const char *name, struct error *err)
{
	const char **slot = arena_push(outcome->arena, &outcome->usage_sampled, &outcome->n_usage_sampled);

	if (slot == NULL)
		return error_no_memory(err);
	*slot = name;
	return 0;
}

static void take_larger(struct outcome *outcome, uint64_t user_ns, uint64_t system_ns)
{
	if (outcome->cpu_user_ns != USAGE_UNKNOWN && user_ns + system_ns <= outcome->cpu_user_ns + outcome->cpu_system_ns)
		return;
	outcome->cpu_user_ns = user_ns;
	outcome->cpu_system_ns = system_ns;
}

static int settle_cpu(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;
	struct group *group = s->launched->group;
	struct error no_count = {0};

	if (group != NULL && group_cpu_usage(group, &outcome->cpu_user_ns, &outcome->cpu_system_ns, &no_count) == 0)
		return 0;
	outcome->cpu_user_ns = outcome->cpu_system_ns = USAGE_UNKNOWN;
	if (s->facts.finished)
		take_larger(outcome, s->facts.finish.cpu_user_ns, s->facts.finish.cpu_system_ns);
	if (s->facts.exited)
		take_larger(outcome, s->facts.exit.cpu_user_ns, s->facts.exit.cpu_system_ns);
	if (s->sampler.sampled)
		take_larger(outcome, s->sampler.last.cpu_user_ns, s->sampler.last.cpu_system_ns);
	if (outcome->cpu_user_ns == USAGE_UNKNOWN)
		return 0;
	return settle_mark_sampled(outcome, "cpu_user_ms", err) < 0 ? -1
								    : settle_mark_sampled(outcome, "cpu_system_ms", err);
}

/* The largest process is a lower bound of the tree, and all there is of a run too short to be sampled. Its figure
 * counts the pages of mapped files as well: above a limit that was held it can be nothing else. */
static uint64_t largest_process(const struct supervisor *s)
{
	uint64_t rss = s->facts.finished ? s->facts.finish.max_rss_bytes : 0;

	return rss > s->plan->watch_memory_bytes ? 0 : rss;
}

static int settle_processes_peak(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;
	uint64_t counted = s->facts.counted ? s->facts.figures.processes_peak : GROUP_UNKNOWN;

	outcome->processes_peak = USAGE_UNKNOWN;
	if (counted != GROUP_UNKNOWN && counted > 0) {
		outcome->processes_peak = counted - (plan_is_confined(s->plan) ? 1 : 0); /* without init */
		return 0;
	}
	if (!s->sampler.sampled)
		return 0;
	outcome->processes_peak = s->sampler.processes_peak;
	if (s->facts.started && outcome->processes_peak == 0)
		outcome->processes_peak = 1; /* the look came before the command */
	return settle_mark_sampled(outcome, "processes_peak", err);
}

static int settle_memory_peak(struct supervisor *s, struct error *err)
{
	struct outcome *outcome = &s->outcome;
	uint64_t rss = largest_process(s);

	if (s->facts.counted && s->facts.figures.memory_peak_bytes != GROUP_UNKNOWN) {
		outcome->memory_peak_bytes = s->facts.figures.memory_peak_bytes;
		return 0;
	}
	outcome->memory_peak_bytes = s->sampler.sampled ? s->sampler.memory_peak : USAGE_UNKNOWN;
	if (rss > 0 && (outcome->memory_peak_bytes == USAGE_UNKNOWN || rss > outcome->memory_peak_bytes))
		outcome->memory_peak_bytes = rss;
	return outcome->memory_peak_bytes == USAGE_UNKNOWN ? 0 : settle_mark_sampled(outcome, "memory_peak_bytes", err);
}

int settle_usage(struct supervisor *s, struct error *err)
{
	if (settle_cpu(s, err) < 0 || settle_processes_peak(s, err) < 0)
		return -1;
	return settle_memory_peak(s, err);
}
