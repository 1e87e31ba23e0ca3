/* What a plan does not depend on - the order of the rules, their number, where the workspace lies - and what it guards. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "tests/unit/harness.h"
#include "tests/unit/world.h"

TestSuite(plan_order, .fini = harness_leak_check);

#define MANY 20000

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All operations, one a line, sorted: the order among those that do not meet is nobody's business. */
static char *operations(const struct plan *plan)
{
	size_t n = plan->mounts.n_ops;
	char **lines = calloc(n, sizeof *lines);
	struct buf buf = {0};

	cr_assert_not_null(lines);
	for (size_t i = 0; i < n; i++) {
		const struct mount_op *op = &plan->mounts.ops[i];

		cr_assert_gt(asprintf(&lines[i], "%s %s %s %x %o\n", op->target, mount_kind_name(op->kind),
				     op->source != NULL ? op->source : "", op->flags, op->mode),
			0);
	}
	qsort(lines, n, sizeof *lines, compare_lines);
	for (size_t i = 0; i < n; i++) {
		buf_append_str(&buf, lines[i]);
		free(lines[i]);
	}
	free(lines);
	return buf_steal(&buf);
}

/* The k-th permutation of a list of texts. */
static void permute(const char *const *texts, size_t n, size_t k, struct buf *buf)
{
	const char *left[8];

	memcpy(left, texts, n * sizeof *left);
	for (; n > 0; n--) {
		size_t i = k % n;

		k /= n;
		buf_printf(buf, "%s%s", left[i], n > 1 ? ", " : "");
		left[i] = left[n - 1];
	}
}

Test(plan_order, rules_in_any_order_are_the_same_rules)
{
	static const char *const writes[] = {"\".\"", "\"sub/deep\"", "\"@/outside\""};
	static const char *const reads[] = {"\"sub\"", "\"secrets/open\"", "\"@/outside/data\""};
	static const char *const denies[] = {"\"secrets\"", "\"**/.env\"", "\"@/outside/data/file\"", "\"absent\""};
	cleanup_free char *first = NULL;
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t k = 0; k < 24; k++) {
		cleanup_buf struct buf buf = {0};
		cleanup_free char *found = NULL;

		buf_append_str(&buf, "{\"version\": 1, \"filesystem\": {\"write\": [");
		permute(writes, 3, k, &buf);
		buf_append_str(&buf, "], \"read\": [");
		permute(reads, 3, k / 2, &buf);
		buf_append_str(&buf, "], \"deny\": [");
		permute(denies, 4, k, &buf);
		buf_append_str(&buf, "], \"protect\": [\".git/hooks\"]}}");
		cleanup_planned struct planned planned = world_plan(&world, "full", buf_str(&buf));
		cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
		cr_expect_eq(planned.plan->n_guards, 1);
		found = operations(planned.plan);
		if (first == NULL)
			first = steal_ptr(&found);
		else
			cr_expect_str_eq(found, first, "in %s", buf_str(&buf));
	}
	world_done(&world);
}

static size_t count_kind(const struct plan *plan, enum mount_kind kind, const char *below)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->mounts.n_ops; i++)
		n += plan->mounts.ops[i].kind == kind && strncmp(plan->mounts.ops[i].target, below, strlen(below)) == 0;
	return n;
}

static char *deny_many(const char *format)
{
	struct buf buf = {0};

	buf_append_str(&buf, "{\"version\": 1, \"filesystem\": {\"write\": [\".\"], \"deny\": [");
	for (unsigned i = 0; i < MANY; i++) {
		buf_append_str(&buf, i > 0 ? ", \"" : "\"");
		buf_printf(&buf, "%s/%02u/f%u\"", format, i % 97, i);
	}
	buf_append_str(&buf, "]}}");
	return buf_steal(&buf);
}

Test(plan_order, many_denied_files_are_all_masked)
{
	cleanup_free char *policy = deny_many("many");
	struct world world;

	world_init(&world, "/var/tmp");
	for (unsigned i = 0; i < MANY; i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "@/ws/many/%02u/f%u", i % 97, i);
		world_add_file(&world, path, 0644);
	}
	cleanup_planned struct planned planned = world_plan(&world, "full", policy);
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_expect_eq(count_kind(planned.plan, MOUNT_MASK, world.ws), MANY);
	cr_expect_eq(count_kind(planned.plan, MOUNT_PIN, world.ws), 98, "each directory is held once");
	world_done(&world);
}

Test(plan_order, many_denied_absent_files_are_all_guarded)
{
	cleanup_free char *policy = deny_many("absent");
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned planned = world_plan(&world, "full-user", policy);
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_expect_eq(planned.plan->n_guards, MANY);
	world_done(&world);
}

/* Said of every home: what is not there is guarded like any other name. */
Test(plan_order, an_absent_name_in_every_home_is_guarded)
{
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned planned = world_plan(&world, "full-user",
		"{\"version\": 1, \"filesystem\": {\"write\": [\"~/\"], \"deny\": [\"~*/absent\"]}}");
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_assert_eq(planned.plan->n_guards, 1);
	cr_expect_str_eq(planned.plan->guards[0].root, world.home);
	cr_expect_str_eq(planned.plan->guards[0].relative, "absent");
	world_done(&world);
}

/* Deeper than patterns are followed: the row says that not everything was looked at. */
Test(plan_order, a_pattern_that_was_not_followed_to_the_end_shows)
{
	const char *policy =
		"{\"version\": 1, \"filesystem\": {\"root\": \"empty\", \"deny\": [\"**/nothing-like-it\"]}}";
	char path[512] = "@/ws";
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned before = world_plan(&world, "full-user", policy);
	cr_assert_not_null(before.plan, "%s", planned_reason(&before));
	cr_expect_eq(enforcement_find(&before.plan->enforcement, false, "protected_paths")->state, ROW_OFF);
	for (unsigned i = 0; i < 80; i++)
		(void)strcat(path, "/d");
	world_add_directory(&world, path, 0755);
	cleanup_planned struct planned planned = world_plan(&world, "full-user", policy);
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_expect_eq(enforcement_find(&planned.plan->enforcement, false, "protected_paths")->state, ROW_DEGRADED);
	world_done(&world);
}

/* Each directory between a writable root and what is hidden or read-only below it is held in place, once. */
Test(plan_order, ancestors_are_held)
{
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned planned = world_plan(&world, "full-user",
		"{\"version\": 1, \"filesystem\": {\"write\": [\".\"], \"deny\": [\"sub/deep/file\", \"sub/.env\"]}}");
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	cr_expect_eq(count_kind(planned.plan, MOUNT_PIN, world.ws), 2);
	cr_expect_eq(count_kind(planned.plan, MOUNT_MASK, world.ws), 2);
	world_done(&world);
}

static __attribute__((noinline)) struct planned plan_in(
	const struct world *world, const char *host, const char *policy, const char *workspace)
{
	struct host facts = world_host(host);

	return world_plan_at(world, &facts, policy, workspace);
}

Test(plan_order, the_root_as_workspace)
{
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned readable = plan_in(&world, "full-user", ":read-only", "/");
	cleanup_planned struct planned writable = plan_in(&world, "full-user", ":workspace-write", "/");
	cr_assert_not_null(readable.plan, "%s", planned_reason(&readable));
	cr_expect(!plan_sight(readable.plan, "/usr/bin/env").writable);
	cr_assert_not_null(writable.plan, "%s", planned_reason(&writable));
	cr_expect(plan_sight(writable.plan, "/usr/bin/env").writable);
	cr_expect_eq(plan_sight(writable.plan, "/run/x").kind, SIGHT_OURS);
	cr_expect_eq(plan_sight(writable.plan, "/tmp/x").kind, SIGHT_OURS);
	cr_expect_eq(plan_sight(writable.plan, "/proc/1").kind, SIGHT_OURS);
	world_done(&world);
}

/* The secrets of a home stay hidden where the home is the workspace. */
Test(plan_order, a_home_as_workspace)
{
	static const char *const hosts[] = {"full", "full-user", "hybrid-root"};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		char path[512];

		cleanup_planned struct planned planned = plan_in(&world, hosts[i], ":workspace-write", world.home);
		cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
		(void)snprintf(path, sizeof path, "%s/.ssh/id_ed25519", world.home);
		cr_expect_eq(plan_sight(planned.plan, path).kind, SIGHT_HIDDEN);
		(void)snprintf(path, sizeof path, "%s/notes", world.home);
		cr_expect(plan_sight(planned.plan, path).writable);
	}
	world_done(&world);
}

/* Started by root, what lies in a home that others cannot enter needs no mask, unless the policy shows it by itself. */
Test(plan_order, a_closed_home)
{
	static const struct {
		const char *filesystem, *path;
		enum sight_kind kind;
	} cases[] = {
		{"\"write\": [\"@/ws\"]", "@/home/.ssh", SIGHT_HOST},
		{"\"write\": [\"@/home\"]", "@/home/.ssh", SIGHT_HIDDEN},
		{"\"write\": [\"@\"]", "@/home/.ssh", SIGHT_HIDDEN},
		{"\"write\": [\"@/home/work\"]", "@/home/work/.ssh", SIGHT_HOST},
		{"\"bind\": [{\"source\": \"@/home\", \"target\": \"@/outside\", \"write\": true}]", "@/outside/.ssh",
			SIGHT_HIDDEN},
		{"\"bind\": [{\"source\": \"@\", \"target\": \"/mnt\", \"write\": true}]", "/mnt/home/.ssh", SIGHT_HIDDEN},
	};
	struct world world;

	world_init(&world, "/var/tmp");
	world_add_directory(&world, "@/home/work", 0755);
	world_add_directory(&world, "@/home", 0700);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[512];
		char *path = world_text(&world, cases[i].path);

		(void)snprintf(text, sizeof text, "{\"version\": 1, \"filesystem\": {%s}}", cases[i].filesystem);
		cleanup_planned struct planned planned = world_plan(&world, "full", text);
		cr_assert_not_null(planned.plan, "%s: %s", cases[i].filesystem, planned_reason(&planned));
		cr_expect_eq(plan_sight(planned.plan, path).kind, cases[i].kind, "%s", cases[i].filesystem);
		free(path);
	}
	world_done(&world);
}

Test(plan_order, kernel_file_systems_are_no_workspaces)
{
	static const char *const workspaces[] = {"/proc", "/proc/self/fd", "/sys", "/dev/shm", "/nowhere", "/etc/passwd"};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < sizeof workspaces / sizeof *workspaces; i++) {
		cleanup_planned struct planned planned = plan_in(&world, "full", ":read-only", workspaces[i]);

		cr_expect_null(planned.plan, "%s", workspaces[i]);
	}
	world_done(&world);
}

/* Started by root: what others may not pass through gives way, but not where the command has the owner's rights. */
Test(plan_order, closed_directories)
{
	struct sight sight;
	char path[512];
	struct world world;

	world_init(&world, "/var/tmp");
	world_add_file(&world, "@/closed/ws/file", 0644);
	world_add_file(&world, "@/closed/other", 0644);
	world_add_directory(&world, "@/closed", 0700);
	world_add_file(&world, "@/ws/private/fixed", 0644);
	world_add_file(&world, "@/ws/private/free", 0644);
	world_add_directory(&world, "@/ws/private", 0700);
	(void)snprintf(path, sizeof path, "%s/closed/ws", world.root);
	cleanup_planned struct planned planned = plan_in(&world, "full", ":workspace-write", path);
	cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
	(void)snprintf(path, sizeof path, "%s/closed/ws/file", world.root);
	sight = plan_sight(planned.plan, path);
	cr_expect(sight.kind == SIGHT_HOST && sight.writable);
	(void)snprintf(path, sizeof path, "%s/closed/other", world.root);
	cr_expect_eq(plan_sight(planned.plan, path).kind, SIGHT_OURS);
	cleanup_planned struct planned inner = world_plan(&world, "full",
		"{\"version\": 1, \"filesystem\": {\"write\": [\".\"], \"read\": [\"private/fixed\"]}}");
	cr_assert_not_null(inner.plan, "%s", planned_reason(&inner));
	(void)snprintf(path, sizeof path, "%s/private/free", world.ws);
	sight = plan_sight(inner.plan, path);
	cr_expect(sight.kind == SIGHT_HOST && sight.writable, "the owner's own directory was taken away");
	(void)snprintf(path, sizeof path, "%s/private/fixed", world.ws);
	sight = plan_sight(inner.plan, path);
	cr_expect(sight.kind == SIGHT_HOST && !sight.writable);
	world_done(&world);
}
