/*
 * What each path of the made-up tree shows is read from the mount operations and held against what the policy says of
 * it, by an oracle of a few lines: the longest rule counts, on one path deny before read before write, and protect
 * takes writing away at and below its path. Of limits and features: what a row calls enforced, the plan carries out.
 */
#include "tests/unit/plan_claims.h"

#include <criterion/criterion.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/policy_oracle.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- paths */

static const char *const probes[] = {"@/ws", "@/ws/README", "@/ws/.env", "@/ws/src", "@/ws/src/main.c", "@/ws/src/new",
	"@/ws/sub", "@/ws/sub/.env", "@/ws/sub/deep", "@/ws/sub/deep/file", "@/ws/secrets", "@/ws/secrets/key.pem",
	"@/ws/secrets/open/note", "@/ws/.git/HEAD", "@/ws/.git/config", "@/ws/.git/hooks", "@/ws/.git/hooks/new",
	"@/outside", "@/outside/log", "@/outside/data", "@/outside/data/file", "@/home", "@/home/notes", "@/home/mnt/x",
	"@/home/mnt/x/log", "@/home/cache", "@/rootfs/bin/sh", "/usr/bin/env", "/etc/passwd", "/proc/sys/kernel",
	"/run/x", "/tmp/x", "/dev/shm/x", "/dev/x"};

static bool is_scratch(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/dev/shm/", 9) == 0;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* An absent name can only be kept absent by the supervisor, where the directory it would stand in can be written to. */
static bool is_guarded(const struct plan *plan, const struct sight *sight)
{
	for (size_t i = 0; i < plan->n_guards; i++) {
		char guarded[1024];

		(void)snprintf(guarded, sizeof guarded, "%.500s/%.500s", plan->guards[i].root, plan->guards[i].relative);
		if (is_at_or_below(sight->source, guarded))
			return true;
	}
	return false;
}

static void check_path(const struct plan *plan, const struct sayings *sayings, const char *path, const char *policy)
{
	const struct saying *counts = sayings_counting(sayings, path);
	struct sight sight = plan_sight(plan, path);
	bool may_write = counts != NULL && (counts->said == SAID_WRITE || counts->said == SAID_BIND_WRITE);
	bool fenced = sayings_protect(sayings, path, counts);

	if (counts != NULL && counts->said == SAID_DENY)
		cr_expect(sight.kind != SIGHT_HOST || is_guarded(plan, &sight) || !exists(path),
			"%s is denied and shows in %s", path, policy);
	if (sight.kind == SIGHT_HOST && sight.writable)
		cr_expect((may_write && !fenced) || is_guarded(plan, &sight), "%s can be written to in %s", path, policy);
	if (sight.kind == SIGHT_OURS && sight.writable)
		cr_expect(is_scratch(path) || (counts != NULL && counts->said == SAID_TMPFS) ||
				strncmp(path, "/proc/", 6) == 0,
			"%s is a writable file system of nobody's wish in %s", path, policy);
	/* Nor does it take away what is granted. */
	if (may_write && !fenced && exists(path))
		cr_expect(sight.kind == SIGHT_HOST && sight.writable, "%s cannot be written to in %s", path, policy);
	if (counts != NULL && counts->said == SAID_READ && exists(path))
		cr_expect(sight.kind == SIGHT_HOST, "%s cannot be read in %s", path, policy);
}

/* Whatever can be written to is a write, bind or tmpfs rule's, a directory held in place in one of these, a device, or
 * one of our own places. */
static void check_op(const struct plan *plan, size_t i, const struct sayings *sayings, const char *policy)
{
	const struct mount_op *op = &plan->mounts.ops[i];
	bool found = false;

	if ((op->flags & MOUNT_WRITE) == 0 || (op->flags & MOUNT_DEVICE) != 0)
		return;
	if (op->kind == MOUNT_SCRATCH) {
		cr_expect(strcmp(op->target, "/tmp") == 0 || strcmp(op->target, "/dev/shm") == 0 ||
				strcmp(op->target, "/run") == 0,
			"scratch on %s in %s", op->target, policy);
		return;
	}
	for (size_t j = 0; j < sayings->n; j++) {
		const struct saying *one = &sayings->list[j];
		bool grants = one->said == SAID_WRITE || one->said == SAID_BIND_WRITE || one->said == SAID_TMPFS;

		found = found ||
			(grants &&
				(op->kind == MOUNT_PIN ? is_at_or_below(op->target, one->path)
						       : strcmp(op->target, one->path) == 0));
	}
	cr_expect(found, "%s %s is writable by no rule in %s", mount_kind_name(op->kind), op->target, policy);
}

/* --- namespaces and limits */

static const struct rlimit *find_rlimit(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_rlimits; i++) {
		if (strcmp(plan->rlimits[i].name, name) == 0)
			return &plan->rlimits[i].value;
	}
	return NULL;
}

static bool rlimit_holds(const struct plan *plan, const char *name, uint64_t value)
{
	const struct rlimit *limit = find_rlimit(plan, name);

	return limit != NULL && limit->rlim_cur <= value && limit->rlim_max <= value;
}

static bool limit_is_carried_out(
	const struct plan *plan, const struct host *host, const char *name, const struct policy_limits *limits)
{
	const struct group_limits *group = &plan->group_limits;
	uint64_t cpus = (limits->cpus_milli + 999) / 1000;

	if (strcmp(name, "wall_time") == 0)
		return plan->wall_ns == limits->wall_ns;
	if (strcmp(name, "cpu_time") == 0)
		return plan->watch_cpu_ns == limits->cpu_ns && find_rlimit(plan, "cpu") != NULL;
	if (strcmp(name, "memory") == 0)
		return plan->watch_memory_bytes == limits->memory_bytes ||
			group->memory_bytes == limits->memory_bytes || rlimit_holds(plan, "as", limits->memory_bytes);
	if (strcmp(name, "swap") == 0)
		return !host->has_swap || group->swap_bytes == limits->swap_bytes;
	if (strcmp(name, "processes") == 0)
		return plan->watch_processes == limits->processes || group->processes == limits->processes + 1 ||
			rlimit_holds(plan, "nproc", limits->processes + 1);
	if (strcmp(name, "cpus") == 0)
		return host->n_cpus <= cpus || group->cpus_milli == limits->cpus_milli || plan->affinity_cpus == cpus;
	if (strcmp(name, "file_size") == 0)
		return rlimit_holds(plan, "fsize", limits->file_size_bytes);
	if (strcmp(name, "open_files") == 0)
		return rlimit_holds(plan, "nofile", limits->open_files);
	if (strcmp(name, "tmp_size") == 0)
		return plan->mounts.scratch_size_bytes > 0 &&
			plan->mounts.scratch_size_bytes <= limits->tmp_size_bytes + (64u << 10);
	return strcmp(name, "output") == 0 && plan->output_bytes == limits->output_bytes;
}

static void check_limits(const struct planned *planned, const struct host *host, const char *policy)
{
	const struct policy_limits *limits = &planned->policy->limits;
	const struct {
		const char *name;
		bool asked;
	} all[] = {{"wall_time", limits->wall_ns != LIMIT_NONE}, {"cpu_time", limits->cpu_ns != LIMIT_NONE},
		{"memory", limits->memory_bytes != LIMIT_NONE},
		{"swap", limits->swap_bytes != LIMIT_NONE && limits->memory_bytes != LIMIT_NONE},
		{"processes", limits->processes != LIMIT_NONE}, {"cpus", limits->cpus_milli != LIMIT_NONE},
		{"file_size", limits->file_size_bytes != LIMIT_NONE}, {"open_files", limits->open_files != LIMIT_NONE},
		{"tmp_size", limits->tmp_size_bytes != LIMIT_NONE}, {"output", limits->output_bytes != LIMIT_NONE}};

	for (size_t i = 0; i < COUNT(all); i++) {
		const struct enforcement_row *row = enforcement_find(&planned->plan->enforcement, true, all[i].name);

		cr_assert_not_null(row, "no row for %s", all[i].name);
		if (!all[i].asked) {
			cr_expect(row->state == ROW_OFF || row->required, "%s was not asked in %s", all[i].name, policy);
			continue;
		}
		cr_expect_neq(row->state, ROW_OFF, "%s was asked in %s", all[i].name, policy);
		if (row->state == ROW_ENFORCED)
			cr_expect(limit_is_carried_out(planned->plan, host, all[i].name, limits),
				"%s is not enforced in %s", all[i].name, policy);
	}
}

static const struct enforcement_row *feature(const struct plan *plan, const char *name)
{
	const struct enforcement_row *row = enforcement_find(&plan->enforcement, false, name);

	cr_assert_not_null(row, "no row for %s", name);
	return row;
}

static void check_features(const struct planned *planned, const char *policy)
{
	static const struct {
		const char *name;
		uint64_t flag;
	} namespaces[] = {{"user_namespace", CLONE_NEWUSER}, {"mount_namespace", CLONE_NEWNS},
		{"pid_namespace", CLONE_NEWPID}, {"ipc_namespace", CLONE_NEWIPC}, {"uts_namespace", CLONE_NEWUTS},
		{"cgroup_namespace", CLONE_NEWCGROUP}, {"network", CLONE_NEWNET}};
	const struct plan *plan = planned->plan;

	for (size_t i = 0; i < COUNT(namespaces); i++) {
		if (feature(plan, namespaces[i].name)->state == ROW_ENFORCED)
			cr_expect_neq(
				plan->namespaces & namespaces[i].flag, 0, "no %s in %s", namespaces[i].name, policy);
	}
	if (planned->policy->network == NETWORK_NONE)
		cr_expect_neq(feature(plan, "network")->state, ROW_OFF, "%s", policy);
	else
		cr_expect_neq(feature(plan, "network")->state, ROW_ENFORCED, "%s", policy);
	if (feature(plan, "seccomp")->state == ROW_ENFORCED)
		cr_expect_gt(plan->filter.n, 0, "no filter in %s", policy);
	if (feature(plan, "identity")->mechanism != NULL && strcmp(feature(plan, "identity")->mechanism, "id_map") == 0)
		cr_expect(plan->identity.mapped && plan->identity.inner_uid == 1000 && plan->identity.uid_base > 0);
}

static bool is_met(const struct plan *plan, const struct policy_requirement *requirement)
{
	bool limit = strncmp(requirement->feature, "limits.", 7) == 0;
	const struct enforcement_row *row =
		enforcement_find(&plan->enforcement, limit, requirement->feature + (limit ? 7 : 0));

	return row != NULL && row->state == ROW_ENFORCED &&
		(requirement->mechanism == NULL || strcmp(row->mechanism, requirement->mechanism) == 0);
}

static void check_refusal(const struct planned *planned, const char *policy)
{
	struct error err = {0};
	bool runs = plan_allows_run(planned->plan, planned->policy, &err) == 0;

	for (size_t i = 0; i < planned->policy->n_require; i++) {
		if (!is_met(planned->plan, &planned->policy->require[i]))
			cr_expect(!runs, "%s is not met in %s", planned->policy->require[i].feature, policy);
	}
	if (planned->policy->enforcement == ENFORCEMENT_STRICT)
		cr_expect_eq(runs, enforcement_verdict(&planned->plan->enforcement) != ROW_UNENFORCEABLE, "%s", policy);
	if (!runs)
		cr_expect_eq(err.code, ERROR_UNENFORCEABLE);
}

bool plan_claims_check(const struct world *world, const struct host *host, const char *policy)
{
	cleanup_planned struct planned planned = world_plan_at(world, host, policy, NULL);
	cleanup_sayings struct sayings sayings = {.n = 0};

	if (planned.policy == NULL || planned.plan == NULL) {
		cr_expect_eq(planned.err.code, ERROR_POLICY_INVALID, "%s: %s", policy, planned_reason(&planned));
		return false;
	}
	sayings_read(world, planned.policy, &sayings);
	cr_expect(!sayings_contradict(&sayings), "a write below a deny is planned: %s", policy);
	for (size_t i = 0; i < COUNT(probes); i++) {
		cleanup_free char *path = world_text(world, probes[i]);

		check_path(planned.plan, &sayings, path, policy);
	}
	for (size_t i = 0; i < planned.plan->mounts.n_ops; i++)
		check_op(planned.plan, i, &sayings, policy);
	check_limits(&planned, host, policy);
	check_features(&planned, policy);
	check_refusal(&planned, policy);
	return true;
}
