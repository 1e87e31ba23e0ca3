/*
 * The watchdog: how much memory a tree has, as cheaply as the answer allows.
 *
 *   1. what all processes have resident, plus what belongs to none: far below the limit this bound is enough, 2 us a
 *      process
 *   2. the same without pages of files (status): a program that maps a large file is not near its limit
 *   3. proportional shares (smaps_rollup): forked children that share pages with their parent are not near it either
 *   4. without the shared pages that steps 1 to 3 counted twice, because they are mapped and belong to a tmpfs, a
 * memory file or a SysV segment (smaps)
 *
 * To each come page tables, which the first step knows from some milliseconds ago.
 *
 * Each step is an upper bound and takes more time than the one before; the first one that lies below the limit is the
 * answer. The kernel's counters behind the first two lag by some pages a CPU, so these must lie an eighth below it.
 *
 * Race: processes fork, exec and end while they are read one after the other, and for a moment memory may seem to be
 * there twice. So one look above the limit is not believed; the next one, two milliseconds later, is.
 *
 * Threat: how long steps 3 and 4 take is for the tree to say, by as many mappings as it likes. A look that has taken
 * half a second ends with the bound of step 2 as its answer, and if that is above the limit twice it is believed.
 *
 * Threat: memory in places that cannot be searched. Where all of it together could pass the limit in two looks, the
 * limit is not held, and that is an error.
 *
 * Threat: between two looks a tree can take what the machine gives in that time. The next look is due when the limit
 * could be reached at 4 GB/s, and not before 2 ms have passed.
 */
#include "cgroup/watchdog.h"

#include <stdlib.h>

#include "base/monotime.h"
#include "cgroup/watch_memory.h"
#include "cgroup/watch_orphans.h"
#include "cgroup/watch_shared.h"
#include "cgroup/watch_tree.h"

#define BYTES_PER_NS    4
#define INTERVAL_MIN_NS (2 * NS_PER_MS)
#define INTERVAL_MAX_NS (50 * NS_PER_MS)
#define STATS_AGE_NS    (10 * NS_PER_MS)
#define LOOK_MAX_NS     (500 * NS_PER_MS)
#define LAG_SHARE       8

struct watchdog {
	struct watch_tree tree;
	struct watch_shared shared;
	uint64_t limit;
	uint64_t bound; /* the tree certainly has no more than this */
	bool was_above, was_hidden, was_in_doubt;
	uint64_t stats_ns;
};

int watchdog_new(int proc_fd, pid_t root, const int *tmpfs_fds, size_t n_tmpfs_fds, const struct watch_sysv *sysv,
	uint64_t memory_limit, struct watchdog **ret_watchdog, struct error *err)
{
	cleanup_with(watchdog_freep) struct watchdog *watchdog = calloc(1, sizeof *watchdog);

	if (watchdog == NULL)
		return error_no_memory(err);
	watchdog->limit = memory_limit;
	watchdog->tree.proc_fd = -1;
	if (watch_tree_init(&watchdog->tree, proc_fd, root, err) < 0 ||
		watch_shared_init(&watchdog->shared, tmpfs_fds, n_tmpfs_fds, sysv, err) < 0)
		return -1;
	*ret_watchdog = steal_ptr(&watchdog);
	return 0;
}

struct watchdog *watchdog_free(struct watchdog *watchdog)
{
	if (watchdog == NULL)
		return NULL;
	watch_tree_done(&watchdog->tree);
	watch_shared_done(&watchdog->shared);
	free(watchdog);
	return NULL;
}

static uint64_t sum_resident(const struct watch_tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->n; i++)
		sum += tree->processes[i].resident_bytes;
	return sum;
}

static uint64_t sum_not_shared(const struct watch_tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->n; i++) {
		const struct watch_process *process = &tree->processes[i];

		if (process->resident_bytes > process->shared_bytes)
			sum += process->resident_bytes - process->shared_bytes;
	}
	return sum;
}

static uint64_t sum_tables(const struct watch_tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->n; i++)
		sum += tree->processes[i].table_bytes;
	return sum;
}

static uint64_t sum_upper(struct watch_tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->n; i++)
		sum += watch_memory_upper(tree, &tree->processes[i]);
	return sum;
}

static bool is_clearly_below(const struct watchdog *watchdog, uint64_t bytes)
{
	return bytes < watchdog->limit - watchdog->limit / LAG_SHARE;
}

/* Steps 2 to 4. */
static uint64_t measure_exactly(struct watchdog *watchdog, uint64_t shared_bytes, uint64_t deadline_ns)
{
	uint64_t upper = sum_upper(&watchdog->tree) + shared_bytes;
	uint64_t shares, twice;

	if (is_clearly_below(watchdog, upper) || !watch_memory_shares(&watchdog->tree, deadline_ns, &shares))
		return upper;
	if (shares + shared_bytes <= watchdog->limit || shared_bytes == 0)
		return shares + shared_bytes;
	if (!watch_memory_counted_twice(&watchdog->tree, &watchdog->shared, deadline_ns, &twice))
		return shares + shared_bytes < upper ? shares + shared_bytes : upper;
	return (shares > twice ? shares - twice : 0) + shared_bytes;
}

static bool may_pass(const struct watchdog *watchdog, uint64_t bytes, uint64_t hidden_bytes)
{
	return bytes > watchdog->limit || hidden_bytes > watchdog->limit - bytes;
}

/* Fails where, for the second time, what could not be searched may be too much. What came during the search may be too
 * much as well, and is seen by the next one. */
static int bear_hidden(struct watchdog *watchdog, uint64_t bytes, struct error *err)
{
	uint64_t hidden_bytes = watch_shared_hidden_bytes(&watchdog->shared);
	bool is_hidden = hidden_bytes > 0 && may_pass(watchdog, bytes, hidden_bytes);
	bool was_hidden = watchdog->was_hidden;

	watchdog->was_hidden = is_hidden;
	watchdog->was_in_doubt = is_hidden || may_pass(watchdog, bytes, watch_shared_growth(&watchdog->shared));
	if (watchdog->was_in_doubt)
		watchdog->bound = UINT64_MAX;
	return is_hidden && was_hidden ? watch_shared_set_error(&watchdog->shared, err) : 0;
}

static bool is_far_below(const struct watchdog *watchdog)
{
	return is_clearly_below(watchdog, watchdog->bound) && watchdog->shared.hidden == WATCH_HIDDEN_NOTHING &&
		!watch_shared_swap_is_used();
}

static int measure(struct watchdog *watchdog, uint64_t deadline_ns, uint64_t *ret_bytes, struct error *err)
{
	struct watch_tree *tree = &watchdog->tree;
	struct watch_shared *shared = &watchdog->shared;
	bool scan = watch_shared_scan_is_due(shared);
	uint64_t beside;

	if (scan && watch_shared_scan(shared, tree, deadline_ns, err) < 0)
		return -1;
	beside = watch_shared_bytes(shared, tree->tasks) + sum_tables(tree);
	watchdog->bound = sum_resident(tree) + beside + watch_shared_growth(shared);
	*ret_bytes = sum_not_shared(tree) + beside;
	if (watchdog->limit == UINT64_MAX || is_far_below(watchdog)) {
		watchdog->was_hidden = watchdog->was_in_doubt = false;
		return 0;
	}
	if (!scan && watch_shared_scan(shared, tree, deadline_ns, err) < 0)
		return -1;
	beside = watch_shared_bytes(shared, tree->tasks);
	watchdog->bound = *ret_bytes = measure_exactly(watchdog, beside, deadline_ns);
	return bear_hidden(watchdog, *ret_bytes, err);
}

/* The first look above the limit says "at the limit". */
static uint64_t believe(struct watchdog *watchdog, uint64_t bytes)
{
	bool above = bytes > watchdog->limit, was_above = watchdog->was_above;

	watchdog->was_above = above;
	return above && !was_above ? watchdog->limit : bytes;
}

int watchdog_sample(struct watchdog *watchdog, struct watchdog_sample *ret_sample, struct error *err)
{
	struct watch_tree *tree = &watchdog->tree;
	uint64_t now_ns = monotime_ns(), bytes;

	if (watch_tree_list(tree, err) < 0)
		return -1;
	if (now_ns - watchdog->stats_ns >= STATS_AGE_NS) {
		watchdog->stats_ns = now_ns;
		watch_tree_read_stats(tree);
		if (watchdog->limit != UINT64_MAX)
			watch_memory_read_tables(tree);
	}
	if (measure(watchdog, now_ns + LOOK_MAX_NS, &bytes, err) < 0)
		return -1;
	*ret_sample = (struct watchdog_sample){
		.memory_bytes = believe(watchdog, bytes),
		.processes = tree->tasks,
		.cpu_user_ns = tree->cpu.user_ns,
		.cpu_system_ns = tree->cpu.system_ns,
	};
	return 0;
}

uint64_t watchdog_interval_ns(const struct watchdog *watchdog)
{
	uint64_t headroom = watchdog->limit > watchdog->bound ? watchdog->limit - watchdog->bound : 0;
	uint64_t ns = headroom / BYTES_PER_NS;

	if (ns < INTERVAL_MIN_NS)
		return INTERVAL_MIN_NS;
	return ns > INTERVAL_MAX_NS ? INTERVAL_MAX_NS : ns;
}

void watchdog_kill(const struct watchdog *watchdog)
{
	watch_orphans_kill(&watchdog->tree);
}

bool watchdog_is_suspicious(const struct watchdog *watchdog)
{
	return watchdog->was_above || watchdog->was_in_doubt;
}
