/* What a plan asks of Landlock, on kernels of every ABI, and what its report says of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/harness.h"
#include "tests/unit/world.h"

TestSuite(fence, .fini = harness_leak_check);

static const char writes[] = "{\"version\": 1, \"extends\": \":workspace-write\", \"filesystem\": {\"write\": "
			     "[\"@/outside\", \"@/outside/data\"], \"read\": [\"sub\"]}}";
static const char nested[] =
	"{\"version\": 1, \"extends\": \":workspace-write\", \"process\": {\"nested_namespaces\": true}}";
static const char network[] =
	"{\"version\": 1, \"extends\": \":workspace-write\", \"filesystem\": {\"root\": \"system\"}, \"network\": {\"mode\": \"host\"}}";
static const char required[] = "{\"version\": 1, \"extends\": \":workspace-write\", \"require\": [\"landlock\"]}";
static const char best_effort[] =
	"{\"version\": 1, \"extends\": \":workspace-write\", \"filesystem\": {\"root\": \"system\"}, \"enforcement\": \"best-effort\"}";

static struct host host_of_abi(unsigned abi)
{
	struct host host = world_host("full");
	struct fact *fact = &host.facts[FACT_LANDLOCK];

	*fact = (struct fact){.state = abi == 0 ? FACT_NO : FACT_YES, .sys_errno = abi == 0 ? EOPNOTSUPP : 0};
	(void)snprintf(fact->step, sizeof fact->step, "%s", abi == 0 ? "landlock_create_ruleset" : "");
	if (abi > 0)
		(void)snprintf(fact->detail, sizeof fact->detail, LANDLOCK_DETAIL, abi);
	return host;
}

static struct planned plan_on_abi(const struct world *world, unsigned abi, const char *policy)
{
	struct host host = host_of_abi(abi);
	struct planned planned = world_plan_at(world, &host, policy, NULL);

	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	return planned;
}

static const struct enforcement_row *row_of(const struct plan *plan, const char *name)
{
	const struct enforcement_row *row = enforcement_find(&plan->enforcement, false, name);

	cr_assert_not_null(row);
	return row;
}

static bool says(const struct enforcement_row *row, const char *words)
{
	return row->reason != NULL && strstr(row->reason, words) != NULL;
}

Test(fence, each_abi_gives_what_it_has)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned abi = 0; abi <= 8; abi++) {
		cleanup_planned struct planned planned = plan_on_abi(&world, abi, writes);
		const struct landlock_plan *fence = &planned.plan->landlock;
		const struct enforcement_row *row = row_of(planned.plan, "landlock");

		cr_expect_eq(fence->files != 0, abi >= 2, "ABI %u", abi);
		cr_expect_eq(fence->scopes != 0, abi >= 6, "ABI %u", abi);
		cr_expect_eq(fence->tcp, 0, "the loopback of its own is the command's to use");
		cr_expect_eq(row->state, abi >= 2 ? ROW_ENFORCED : ROW_OFF, "ABI %u", abi);
		cr_expect_eq(says(row, "beneath the writable paths"), abi >= 2, "ABI %u: %s", abi, row->reason);
		cr_expect_eq(says(row, "save by truncate"), abi == 2, "ABI %u: %s", abi, row->reason);
		cr_expect_eq(says(row, "abstract sockets"), abi >= 6, "ABI %u: %s", abi, row->reason);
		cr_expect_not_null(row->reason);
	}
	world_done(&world);
}

/* The same paths, read off the mounts by somebody else. */
Test(fence, what_the_mounts_make_writable_is_given_back_and_nothing_else)
{
	static const char *const writable[] = {"@/ws/README", "@/ws/src/x", "@/outside/log", "@/outside/data/file",
		"/tmp/x", "/tmp/.home", "/dev/shm/x"};
	static const char *const fixed[] = {"/", "/etc/passwd", "/run/x", "@/home/notes", "/usr/bin/true", "/var/tmp/x"};
	struct world world;

	world_init(&world, "/var/tmp");
	{
		cleanup_planned struct planned planned = plan_on_abi(&world, 7, writes);
		const struct landlock_plan *fence = &planned.plan->landlock;

		for (size_t i = 0; i < 13; i++) {
			bool wanted = i < 7;
			cleanup_free char *path = world_text(&world, wanted ? writable[i] : fixed[i - 7]);
			bool given = false;

			for (size_t k = 0; k < fence->n_rules; k++) {
				size_t size = strlen(fence->rules[k].path);

				given = given ||
					(strncmp(path, fence->rules[k].path, size) == 0 &&
						(path[size] == '/' || path[size] == '\0'));
			}
			cr_expect_eq(given, wanted, "%s", path);
			cr_expect_eq(plan_sight(planned.plan, path).writable, wanted, "%s", path);
		}
		cr_expect_eq(fence->n_rules, 6, "%zu rules: one for each tree, /dev and /proc", fence->n_rules);
	}
	world_done(&world);
}

Test(fence, a_sandbox_inside_can_mount)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned abi = 0; abi <= 7; abi++) {
		cleanup_planned struct planned planned = plan_on_abi(&world, abi, nested);
		const struct enforcement_row *row = row_of(planned.plan, "landlock");

		cr_expect_eq(planned.plan->landlock.files, 0, "ABI %u", abi);
		cr_expect_eq(planned.plan->landlock.n_rules, 0, "ABI %u", abi);
		cr_expect_eq(planned.plan->landlock.scopes != 0, abi >= 6, "ABI %u", abi);
		cr_expect_eq(row->state, abi >= 6 ? ROW_ENFORCED : ROW_OFF, "ABI %u", abi);
		cr_expect(abi < 2 || says(row, "could not mount"), "ABI %u: %s", abi, row->reason);
	}
	world_done(&world);
}

Test(fence, abstract_sockets_of_the_host_are_closed_from_abi_6)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned abi = 0; abi <= 7; abi++) {
		cleanup_planned struct planned planned = plan_on_abi(&world, abi, network);
		const struct enforcement_row *row = row_of(planned.plan, "host_sockets");

		cr_expect_eq(row->state, abi >= 6 ? ROW_ENFORCED : ROW_DEGRADED, "ABI %u", abi);
		cr_expect_eq(says(row, "abstract sockets"), abi < 6, "ABI %u", abi);
	}
	world_done(&world);
}

Test(fence, tcp_is_closed_where_a_network_namespace_was_lost)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned abi = 0; abi <= 7; abi++) {
		struct host host = host_of_abi(abi);

		host.facts[FACT_NET_NAMESPACE] = (struct fact){.state = FACT_NO, .sys_errno = EPERM};
		cleanup_planned struct planned planned = world_plan_at(&world, &host, best_effort, NULL);
		cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
		cr_expect_eq(planned.plan->landlock.tcp != 0, abi >= 4, "ABI %u", abi);
		cr_expect_eq(says(row_of(planned.plan, "landlock"), "TCP"), abi >= 4, "ABI %u", abi);
		cr_expect_eq(row_of(planned.plan, "network")->state, ROW_UNENFORCEABLE, "UDP is open");
		cr_expect_eq(row_of(planned.plan, "host_sockets")->state, abi >= 6 ? ROW_ENFORCED : ROW_DEGRADED);
	}
	world_done(&world);
}

Test(fence, nothing_depends_on_it_unless_it_is_required)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned abi = 0; abi <= 7; abi++) {
		cleanup_planned struct planned planned = plan_on_abi(&world, abi, ":workspace-write");
		cleanup_planned struct planned asked = plan_on_abi(&world, abi, required);
		struct error err = {0};

		cr_expect_eq(plan_allows_run(planned.plan, planned.policy, &err), 0, "ABI %u: %s", abi, err.text);
		cr_expect_eq(plan_allows_run(asked.plan, asked.policy, &err) == 0, abi >= 2, "ABI %u", abi);
		cr_expect(abi > 0 || strstr(err.text, "the kernel has no Landlock") != NULL, "%s", err.text);
	}
	world_done(&world);
}

/* Not the policy's word for it counts, but what its filter does. */
Test(fence, namespaces_that_the_filter_allows_are_told)
{
	static const struct {
		const char *policy;
		bool open;
	} cases[] = {
		{"{\"version\": 1}", false},
		{"{\"version\": 1, \"seccomp\": {\"profile\": \":strict\"}}", false},
		{"{\"version\": 1, \"seccomp\": {\"allow\": [\"mount\", \"setns\"]}}", false},
		{"{\"version\": 1, \"seccomp\": {\"allow\": [\"unshare\"]}}", true},
		{"{\"version\": 1, \"seccomp\": {\"allow\": [\"clone\"]}}", true},
		{"{\"version\": 1, \"process\": {\"nested_namespaces\": true}}", true},
	};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cleanup_planned struct planned planned = plan_on_abi(&world, 7, cases[i].policy);
		bool open = cases[i].open;

		cr_expect_eq(row_of(planned.plan, "nested_namespaces")->state, open ? ROW_OFF : ROW_ENFORCED, "%s",
			cases[i].policy);
		cr_expect_eq(row_of(planned.plan, "setuid_files")->state, open ? ROW_DEGRADED : ROW_ENFORCED, "%s",
			cases[i].policy);
		cr_expect_eq(planned.plan->cgroup_inner, open, "%s", cases[i].policy);
	}
	world_done(&world);
}
