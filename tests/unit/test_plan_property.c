/*
 * A plan is never weaker than its policy without a row that says so. Policies come from a small generator with a fixed
 * seed and are planned on every fake host; what is held against each plan is in plan_claims.c.
 */
#include <criterion/criterion.h>

#include "tests/unit/harness.h"
#include "tests/unit/plan_claims.h"
#include "tests/unit/policy_maker.h"
#include "tests/unit/world.h"

TestSuite(plan_property, .fini = harness_leak_check);

#define POLICIES     150
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void check_host(const char *name, uint64_t seed)
{
	struct host host = world_host(name);
	struct chance chance = {.state = seed};
	struct world world;
	size_t planned = 0;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < POLICIES; i++) {
		cleanup_free char *policy = policy_maker_next(&chance);

		planned += plan_claims_check(&world, &host, policy);
	}
	cr_expect_gt(planned, POLICIES / 3, "only %zu of the policies could be planned", planned);
	world_done(&world);
}

Test(plan_property, full)
{
	check_host("full", 1);
}
Test(plan_property, full_user)
{
	check_host("full-user", 2);
}
Test(plan_property, hybrid_root)
{
	check_host("hybrid-root", 3);
}
Test(plan_property, hybrid_user)
{
	check_host("hybrid-user", 4);
}
Test(plan_property, in_container)
{
	check_host("in-container", 5);
}
Test(plan_property, no_cgroup)
{
	check_host("no-cgroup", 6);
}
Test(plan_property, no_userns)
{
	check_host("no-userns", 7);
}
Test(plan_property, old_kernel)
{
	check_host("old-kernel", 8);
}

static __attribute__((noinline)) void check_lack(
	const struct world *world, const char *policy, enum host_fact fact, bool spared)
{
	struct host host = world_host("full");

	host.facts[fact] = (struct fact){.state = FACT_NO, .sys_errno = 1, .step = "made up"};
	cleanup_planned struct planned planned = world_plan_at(world, &host, policy, NULL);
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_expect_eq(enforcement_verdict(&planned.plan->enforcement) == ROW_ENFORCED, spared, "without %s",
		host_fact_name(fact));
}

/* Whatever a run needs of the kernel, its lack is seen in the report: what check calls enforceable can be launched. */
Test(plan_property, every_lack_shows)
{
	static const enum host_fact spare[] = {FACT_CLOSE_RANGE, FACT_LANDLOCK, FACT_NPROC_PER_NAMESPACE,
		FACT_CGROUP_KILL, FACT_CGROUP_SWAP, FACT_CGROUP_PIDS, FACT_CGROUP_CPU, FACT_OWN_ID};
	static const char eval[] = "{\"version\": 1, \"extends\": \":eval\"}";
	struct world world;

	world_init(&world, "/var/tmp");
	for (enum host_fact fact = 0; fact < _FACT_COUNT; fact++) {
		bool spared = false;

		for (size_t i = 0; i < COUNT(spare); i++)
			spared = spared || spare[i] == fact;
		check_lack(&world, eval, fact, spared);
	}
	world_done(&world);
}

/* Root without CAP_SETFCAP can map others, but not itself. */
Test(plan_property, lack_of_the_own_id_shows_where_it_is_kept)
{
	static const char caller[] =
		"{\"version\": 1, \"extends\": \":workspace-write\", \"process\": {\"identity\": \"caller\"}}";
	struct host host = world_host("full");
	struct world world;

	host.facts[FACT_OWN_ID] = (struct fact){.state = FACT_NO, .sys_errno = 1, .step = "uid_map"};
	world_init(&world, "/var/tmp");
	{
		cleanup_planned struct planned kept = world_plan_at(&world, &host, caller, NULL);

		cr_assert_not_null(kept.plan, "%s", planned_reason(&kept));
		cr_expect_eq(
			enforcement_find(&kept.plan->enforcement, false, "user_namespace")->state, ROW_UNENFORCEABLE);
	}
	world_done(&world);
}
