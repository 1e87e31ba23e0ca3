/*
 * Limits -> mechanisms. One function a limit; each adds its row and whatever launch and supervise need to enforce it.
 * What a controller of cgroup version 2 can hold it holds: for the whole tree, by the kernel, exactly.
 *
 * RLIMIT_NPROC does nothing for the host's uid 0, so there the watchdog counts (setrlimit(2)). RLIMIT_AS breaks
 * programs that reserve address space (node, java, go), so it is used only where it is asked for by name; beside the
 * watchdog a generous RLIMIT_DATA keeps one process from outrunning the samples. RLIMIT_CORE is 1, not 0: 0 does not
 * keep a core_pattern that is a pipe from being run on the host (core(5)), 1 does.
 */
#include <string.h>
#include <unistd.h>

#include "base/monotime.h"
#include "base/str.h"
#include "cgroup/controllers.h"
#include "runtime/plan/planner.h"

#define DATA_SLACK_BYTES (1ull << 30)
#define SAMPLED \
	"sampled, and without what the kernel holds for the tree (socket and pipe buffers): a fast burst can exceed it"
#define SAMPLED_UNCONFINED                                                                                                    \
	"sampled, and without what the kernel holds for the tree, files in a tmpfs and SysV segments that are not mapped: a " \
	"fast burst can exceed it"
#define MEMORY_FIX "a delegated cgroup v2 directory with the memory controller"

static void add_rlimit(struct planner *planner, int resource, const char *name, uint64_t soft, uint64_t hard)
{
	struct plan_rlimit *limit = arena_push(planner->arena, &planner->plan->rlimits, &planner->plan->n_rlimits);
	struct rlimit now;

	if (limit == NULL)
		return;
	/* Nobody inside holds CAP_SYS_RESOURCE: a hard limit can only be lowered. */
	if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < hard)
		hard = now.rlim_max;
	*limit = (struct plan_rlimit){resource, {soft < hard ? soft : hard, hard}, name};
}

static struct enforcement_row *limit_row(struct planner *planner, const char *name, const char *unit, uint64_t value)
{
	struct enforcement_row *row = planner_add_row(planner, name, true);

	if (row == NULL)
		return NULL;
	row->unit = unit;
	row->has_asked = value != LIMIT_NONE;
	row->asked = value == LIMIT_NONE ? 0 : (double)value;
	return row->has_asked ? row : NULL;
}

static void enforce(struct enforcement_row *row, const char *mechanism, enum row_strength strength, enum row_scope scope)
{
	row->state = ROW_ENFORCED;
	row->mechanism = mechanism;
	row->strength = strength;
	row->scope = scope;
}

static void degrade(struct enforcement_row *row, const char *reason, const char *fix)
{
	row->state = ROW_DEGRADED;
	row->reason = reason;
	row->fix = fix;
}

bool planner_has_controller(const struct planner *planner, enum host_fact controller)
{
	return planner->plan->cgroup_base != NULL && planner->host->facts[controller].state == FACT_YES;
}

/* The remedy that is known for this host, or what it would take on any. */
static const char *controller_fix(struct planner *planner, enum host_fact controller, const char *otherwise)
{
	char remedy[240];

	if (*host_fact_remedy(planner->host, controller, remedy, sizeof remedy) == '\0')
		return otherwise;
	return arena_strdup(planner->arena, remedy);
}

static bool confines(const struct planner *planner)
{
	return planner->policy->backend != BACKEND_NONE;
}

/* What the command can take back, because it keeps the caller's rights. */
static void degrade_revocable(struct planner *planner, struct enforcement_row *row, bool root_only)
{
	if (!confines(planner) && (!root_only || planner->outer_uid == 0))
		degrade(row,
			root_only ? "the command is root and may raise it" : "the command has the rights to take it back",
			"the backend \"namespaces\"");
}

/* What is lost, and why the controller that would hold it is not to be had. */
static const char *without_controller(struct planner *planner, enum host_fact controller, const char *loss)
{
	const struct fact *fact = &planner->host->facts[controller];
	const char *word = fact->sys_errno != 0 ? strerror(fact->sys_errno) : NULL;

	if (fact->state != FACT_NO || fact->detail[0] == '\0')
		return loss;
	return arena_printf(planner->arena, "%s; no cgroup: %s%s%s", loss, fact->detail, word != NULL ? ": " : "",
		word != NULL ? word : "");
}

static void limit_wall_time(struct planner *planner)
{
	uint64_t value = planner->policy->limits.wall_ns;
	struct enforcement_row *row = limit_row(planner, "wall_time", "ns", value);

	planner->plan->wall_ns = value;
	if (row != NULL)
		enforce(row, "supervisor", STRENGTH_SUPERVISED, SCOPE_TREE);
}

static void limit_cpu_time(struct planner *planner)
{
	uint64_t value = planner->policy->limits.cpu_ns;
	struct enforcement_row *row = limit_row(planner, "cpu_time", "ns", value);
	bool counted = planner->plan->cgroup_base != NULL;
	uint64_t seconds;

	planner->plan->watch_cpu_ns = value;
	if (row == NULL)
		return;
	enforce(row, counted ? "cgroup-base" : "watchdog", STRENGTH_SUPERVISED, SCOPE_TREE);
	if (planner_has_controller(planner, FACT_CGROUP_CPU))
		row->mechanism = "cgroup";
	if (!counted)
		degrade(row,
			"sampled: what processes use that live shorter than from one sample to the next may be missed",
			controller_fix(planner, FACT_CGROUP2, "a cgroup v2 directory of your own"));
	/* The kernel's own limit a process, should the supervisor be stopped. */
	seconds = value / NS_PER_S + 2;
	add_rlimit(planner, RLIMIT_CPU, "cpu", seconds, seconds + 1);
}

static void memory_by_watchdog(struct planner *planner, struct enforcement_row *row, uint64_t value)
{
	planner->plan->watch_memory_bytes = value;
	enforce(row, "watchdog", STRENGTH_SUPERVISED, SCOPE_TREE);
	degrade(row, without_controller(planner, FACT_CGROUP_MEMORY, confines(planner) ? SAMPLED : SAMPLED_UNCONFINED),
		controller_fix(planner, FACT_CGROUP_MEMORY, MEMORY_FIX));
	add_rlimit(planner, RLIMIT_DATA, "data", value * 2 + DATA_SLACK_BYTES, value * 2 + DATA_SLACK_BYTES);
}

static void memory_by_cgroup(struct planner *planner, struct enforcement_row *row, uint64_t value)
{
	if (!planner_has_controller(planner, FACT_CGROUP_MEMORY)) {
		planner_row_lacks(planner, row, FACT_CGROUP_MEMORY);
		return;
	}
	planner->plan->group_limits.memory_bytes = value;
	enforce(row, "cgroup", STRENGTH_KERNEL, SCOPE_TREE);
	degrade_revocable(planner, row, false);
}

static void limit_memory(struct planner *planner)
{
	const struct policy_limits *limits = &planner->policy->limits;
	uint64_t value = limits->memory_bytes;
	struct enforcement_row *row = limit_row(planner, "memory", "bytes", value);

	planner->plan->memory_bytes = value;
	if (row == NULL)
		return;
	switch (limits->memory_strategy) {
	case MEMORY_AUTO:
		if (planner_has_controller(planner, FACT_CGROUP_MEMORY))
			memory_by_cgroup(planner, row, value);
		else
			memory_by_watchdog(planner, row, value);
		break;
	case MEMORY_WATCHDOG: memory_by_watchdog(planner, row, value); break;
	case MEMORY_RLIMIT_AS:
		enforce(row, "rlimit_as", STRENGTH_KERNEL, SCOPE_PROCESS);
		degrade(row, "limits the address space of each process, not the memory of the tree", NULL);
		add_rlimit(planner, RLIMIT_AS, "as", value, value);
		break;
	case MEMORY_CGROUP: memory_by_cgroup(planner, row, value); break;
	case _MEMORY_COUNT: break;
	}
}

/* Without a cgroup nothing tells swapped pages from resident ones in time. */
static void limit_swap(struct planner *planner)
{
	uint64_t value = planner->policy->limits.memory_bytes == LIMIT_NONE ? LIMIT_NONE
									    : planner->policy->limits.swap_bytes;
	struct enforcement_row *row = limit_row(planner, "swap", "bytes", value);

	if (row == NULL)
		return;
	if (planner->plan->group_limits.memory_bytes != GROUP_NO_LIMIT &&
		planner_has_controller(planner, FACT_CGROUP_SWAP)) {
		planner->plan->group_limits.swap_bytes = value;
		enforce(row, "cgroup", STRENGTH_KERNEL, SCOPE_TREE);
		return;
	}
	if (!planner->host->has_swap) {
		enforce(row, "no_swap", STRENGTH_KERNEL, SCOPE_TREE);
		row->reason = "this machine has no swap";
		return;
	}
	degrade(row, "pages that are swapped out are not counted", controller_fix(planner, FACT_CGROUP_SWAP, MEMORY_FIX));
}

static void limit_processes(struct planner *planner)
{
	uint64_t value = planner->policy->limits.processes;
	struct enforcement_row *row = limit_row(planner, "processes", "count", value);

	planner->plan->processes_max = value;
	planner->plan->watch_processes = LIMIT_NONE;
	if (row == NULL)
		return;
	if (planner_has_controller(planner, FACT_CGROUP_PIDS)) {
		planner->plan->group_limits.processes = value + (confines(planner) ? 1 : 0); /* init counts */
		enforce(row, "cgroup", STRENGTH_KERNEL, SCOPE_TREE);
		degrade_revocable(planner, row, false);
		return;
	}
	if (confines(planner) && (planner->plan->identity.mapped || planner->outer_uid != 0)) {
		if (planner->host->facts[FACT_NPROC_PER_NAMESPACE].state == FACT_NO) {
			planner_row_lacks(planner, row, FACT_NPROC_PER_NAMESPACE);
			return;
		}
		enforce(row, "rlimit_nproc", STRENGTH_KERNEL, SCOPE_TREE);
		add_rlimit(planner, RLIMIT_NPROC, "nproc", value + 1, value + 1); /* init counts */
		return;
	}
	planner->plan->watch_processes = value;
	enforce(row, "watchdog", STRENGTH_SUPERVISED, SCOPE_TREE);
	degrade(row,
		confines(planner)
			? "uid 0 has no kernel limit: the tree is killed when a sample finds more, which a fast burst can exceed"
			: "the kernel would count all of the caller's processes: the tree is killed when a sample finds more, "
			  "which a fast burst can exceed",
		controller_fix(planner, FACT_CGROUP_PIDS, "a delegated cgroup v2 directory with the pids controller"));
}

static void limit_cpus(struct planner *planner)
{
	uint64_t milli = planner->policy->limits.cpus_milli;
	struct enforcement_row *row = limit_row(planner, "cpus", "cpus", milli);
	unsigned cpus;

	if (row == NULL)
		return;
	row->asked = (double)milli / 1000;
	if (planner_has_controller(planner, FACT_CGROUP_CPU)) {
		planner->plan->group_limits.cpus_milli = milli;
		enforce(row, "cgroup", STRENGTH_KERNEL, SCOPE_TREE);
		degrade_revocable(planner, row, false);
		return;
	}
	cpus = (unsigned)((milli + 999) / 1000);
	enforce(row, "affinity", STRENGTH_KERNEL, SCOPE_TREE);
	if (cpus < planner->host->n_cpus)
		planner->plan->affinity_cpus = cpus;
	degrade_revocable(planner, row, false);
	if (milli % 1000 != 0)
		degrade(row,
			arena_printf(planner->arena, "%u whole CPUs, by affinity",
				cpus < planner->host->n_cpus ? cpus : planner->host->n_cpus),
			controller_fix(
				planner, FACT_CGROUP_CPU, "a delegated cgroup v2 directory with the cpu controller"));
}

static void limit_file_size(struct planner *planner)
{
	uint64_t value = planner->policy->limits.file_size_bytes;
	struct enforcement_row *row = limit_row(planner, "file_size", "bytes", value);

	if (row == NULL)
		return;
	enforce(row, "rlimit", STRENGTH_KERNEL, SCOPE_PROCESS);
	add_rlimit(planner, RLIMIT_FSIZE, "fsize", value, value);
	degrade_revocable(planner, row, true);
}

static void limit_open_files(struct planner *planner)
{
	uint64_t value = planner->policy->limits.open_files;
	struct enforcement_row *row = limit_row(planner, "open_files", "count", value);

	if (row == NULL)
		return;
	enforce(row, "rlimit", STRENGTH_KERNEL, SCOPE_PROCESS);
	add_rlimit(planner, RLIMIT_NOFILE, "nofile", value, value);
	degrade_revocable(planner, row, true);
}

static void limit_tmp_size(struct planner *planner)
{
	struct enforcement_row *row = limit_row(planner, "tmp_size", "bytes", planner->policy->limits.tmp_size_bytes);

	if (row == NULL)
		return;
	if (confines(planner))
		enforce(row, "tmpfs", STRENGTH_KERNEL, SCOPE_TREE);
	else
		row->reason = "there is no private /tmp";
}

static void limit_output(struct planner *planner)
{
	uint64_t value = planner->policy->limits.output_bytes;
	struct enforcement_row *row = limit_row(planner, "output", "bytes", value);
	bool passes = planner->plan->output == PLAN_OUTPUT_CAPTURE || planner->plan->output == PLAN_OUTPUT_RELAY;

	planner->plan->output_bytes = value;
	if (row == NULL)
		return;
	if (passes)
		enforce(row, "supervisor", STRENGTH_SUPERVISED, SCOPE_TREE);
	else
		row->reason = "the streams are connected directly";
}

/* Inside another sandbox of ours it is set already, and the filter there lets nobody set it again. */
static void limit_core(struct planner *planner)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_CORE, &now) < 0 || now.rlim_cur != 1 || now.rlim_max != 1)
		add_rlimit(planner, RLIMIT_CORE, "core", 1, 1);
}

/* RLIMIT_NPROC cannot count what the host's uid 0 has. */
static bool needs_pids_controller(const struct policy *policy, const struct host *host)
{
	return policy->backend == BACKEND_NONE ||
		(host->uid == 0 && (!host->privileged || policy->identity != IDENTITY_AUTO));
}

/* What is named as a requirement is worth the asking. */
static unsigned required_controllers(const struct policy *policy)
{
	static const struct {
		const char *feature;
		enum controller controller;
	} rows[] = {{"limits.memory", CONTROLLER_MEMORY}, {"limits.swap", CONTROLLER_MEMORY},
		{"limits.processes", CONTROLLER_PIDS}, {"limits.cpus", CONTROLLER_CPU},
		{"limits.cpu_time", CONTROLLER_CPU}};
	unsigned set = 0;

	for (size_t i = 0; i < policy->n_require; i++) {
		for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
			if (str_equal(policy->require[i].feature, rows[k].feature) &&
				str_equal(policy->require[i].mechanism, "cgroup"))
				set |= CONTROLLER_BIT(rows[k].controller);
		}
	}
	return set;
}

struct host_wants plan_wants(const struct policy *policy, const struct host *host)
{
	const struct policy_limits *limits = &policy->limits;
	struct host_wants wants = {.worth_a_scope = required_controllers(policy)};

	if (limits->memory_bytes != LIMIT_NONE &&
		(limits->memory_strategy == MEMORY_AUTO || limits->memory_strategy == MEMORY_CGROUP))
		wants.worth_a_scope |= CONTROLLER_BIT(CONTROLLER_MEMORY);
	if (limits->cpus_milli != LIMIT_NONE && limits->cpus_milli % 1000 != 0)
		wants.worth_a_scope |= CONTROLLER_BIT(CONTROLLER_CPU);
	if (limits->processes != LIMIT_NONE && needs_pids_controller(policy, host))
		wants.worth_a_scope |= CONTROLLER_BIT(CONTROLLER_PIDS);
	wants.controllers = wants.worth_a_scope;
	if (limits->cpus_milli != LIMIT_NONE)
		wants.controllers |= CONTROLLER_BIT(CONTROLLER_CPU);
	if (limits->processes != LIMIT_NONE)
		wants.controllers |= CONTROLLER_BIT(CONTROLLER_PIDS);
	return wants;
}

int planner_limits(struct planner *planner, struct error *err)
{
	planner->plan->watch_memory_bytes = LIMIT_NONE;
	planner->plan->group_limits =
		(struct group_limits){GROUP_NO_LIMIT, GROUP_NO_LIMIT, GROUP_NO_LIMIT, GROUP_NO_LIMIT};
	limit_wall_time(planner);
	limit_cpu_time(planner);
	limit_memory(planner);
	limit_swap(planner);
	limit_processes(planner);
	limit_cpus(planner);
	limit_file_size(planner);
	limit_open_files(planner);
	limit_tmp_size(planner);
	limit_output(planner);
	limit_core(planner);
	return arena_check(planner->arena, err);
}
