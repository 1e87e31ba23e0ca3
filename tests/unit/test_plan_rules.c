/*
 * What the rules on paths mean, one line a case: a policy, a path, and what is seen there inside. On a host with an id
 * map of its own (started by root) and on one without, since the ways to hide a thing differ.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/unit/harness.h"
#include "tests/unit/world.h"

TestSuite(plan_rules, .fini = harness_leak_check);

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const hosts[] = {"full", "full-user"};

static const char *show(const struct sight *sight)
{
	static const char *const names[] = {[SIGHT_HOST] = "host", [SIGHT_OURS] = "ours", [SIGHT_HIDDEN] = "hidden"};

	return sight->kind == SIGHT_HOST && sight->writable ? "host, writable" : names[sight->kind];
}

/* `files` is the inside of the policy's "filesystem". */
static struct planned plan_files(const struct world *world, const char *host, const char *files)
{
	cleanup_free char *policy = NULL;

	cr_assert_gt(asprintf(&policy, "{\"version\": 1, \"filesystem\": {%s}}", files), 0);
	return world_plan(world, host, policy);
}

struct sight_case {
	const char *files, *path, *seen;
};

static void check_sight(const struct world *world, const char *host, const struct sight_case *one)
{
	cleanup_planned struct planned planned = plan_files(world, host, one->files);
	cleanup_free char *path = world_text(world, one->path);
	struct sight sight;

	cr_assert_not_null(planned.plan, "%s: %s", one->files, planned_reason(&planned));
	sight = plan_sight(planned.plan, path);
	cr_expect_str_eq(show(&sight), one->seen, "on %s: {%s} shows %s as %s, not %s", host, one->files, one->path,
		show(&sight), one->seen);
}

static void check_sights(const struct sight_case *cases, size_t n)
{
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < COUNT(hosts); j++)
			check_sight(&world, hosts[j], &cases[i]);
	}
	world_done(&world);
}

Test(plan_rules, the_longest_path_counts)
{
	static const struct sight_case cases[] = {
		{"\"write\": [\".\"]", "@/ws/src/main.c", "host, writable"},
		{"\"write\": [\".\"]", "@/outside/log", "host"},
		{"\"write\": [\"@\"]", "@/ws/src/main.c", "host, writable"},
		{"\"write\": [\"@\"], \"read\": [\".\"]", "@/ws/src/main.c", "host"},
		{"\"write\": [\".\"], \"read\": [\"src\"]", "@/ws/src/main.c", "host"},
		{"\"write\": [\".\"], \"read\": [\"src\"]", "@/ws/README", "host, writable"},
		{"\"write\": [\".\", \"sub/deep\"], \"read\": [\"sub\"]", "@/ws/sub/deep/file", "host, writable"},
		{"\"write\": [\".\", \"sub/deep\"], \"read\": [\"sub\"]", "@/ws/sub/.env", "host"},
		{"\"write\": [\".\"], \"deny\": [\"secrets\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"write\": [\".\"], \"deny\": [\"secrets/key.pem\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"write\": [\".\"], \"deny\": [\"secrets/key.pem\"]", "@/ws/secrets/open/note", "host, writable"},
		{"\"read\": [\"secrets/open\"], \"deny\": [\"secrets\"]", "@/ws/secrets/open/note", "host"},
		{"\"read\": [\"secrets/open\"], \"deny\": [\"secrets\"]", "@/ws/secrets/key.pem", "ours"},
		{"\"write\": [\".git\"], \"protect\": [\".git/hooks\"]", "@/ws/.git/hooks", "host"},
		{"\"write\": [\".\", \".git/hooks\"], \"protect\": [\".git\"]", "@/ws/.git/hooks", "host, writable"},
		{"\"write\": [\".\", \".git/hooks\"], \"protect\": [\".git\"]", "@/ws/.git/config", "host"},
	};

	check_sights(cases, COUNT(cases));
}

Test(plan_rules, on_one_path_the_stricter_counts)
{
	static const struct sight_case cases[] = {
		{"\"write\": [\"src\"], \"read\": [\"src\"]", "@/ws/src/main.c", "host"},
		{"\"write\": [\"src\"], \"deny\": [\"src\"]", "@/ws/src/main.c", "hidden"},
		{"\"read\": [\"src\"], \"deny\": [\"src\"]", "@/ws/src/main.c", "hidden"},
		{"\"write\": [\"src\"], \"protect\": [\"src\"]", "@/ws/src/main.c", "host"},
		{"\"protect\": [\"src\"], \"deny\": [\"src\"]", "@/ws/src/main.c", "hidden"},
		{"\"root\": \"system\", \"write\": [\".\"], \"protect\": [\".\"]", "@/ws/src/main.c", "host"},
		{"\"root\": \"system\", \"write\": [\".\"], \"read\": [\".\"], \"deny\": [\"secrets\"]",
			"@/ws/secrets/key.pem", "hidden"},
		{"\"root\": \"empty\", \"write\": [\".\"], \"protect\": [\".\"], \"deny\": [\"**/.env\"]",
			"@/ws/sub/.env", "hidden"},
	};

	check_sights(cases, COUNT(cases));
}

Test(plan_rules, a_path_is_what_the_file_tree_says)
{
	static const struct sight_case cases[] = {
		{"\"deny\": [\"src/../secrets\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"deny\": [\".//secrets///\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"deny\": [\"./secrets/./key.pem\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"deny\": [\"../outside\"]", "@/outside/log", "hidden"},
		{"\"deny\": [\"~/notes\"]", "@/home/notes", "hidden"},
		{"\"deny\": [\"~/\"]", "@/home/notes", "hidden"},
		{"\"deny\": [\"link\"]", "@/ws/src/main.c", "hidden"},
		{"\"deny\": [\"link/main.c\"]", "@/ws/src/main.c", "hidden"},
		{"\"deny\": [\"away\"]", "@/outside/data/file", "hidden"},
		/* away is ../outside/data: what the kernel takes for its parent is not the workspace. */
		{"\"deny\": [\"away/../log\"]", "@/outside/log", "hidden"},
	};

	check_sights(cases, COUNT(cases));
}

Test(plan_rules, patterns_are_for_deny)
{
	static const struct sight_case cases[] = {
		{"\"deny\": [\"**/.env\"]", "@/ws/.env", "hidden"},
		{"\"deny\": [\"**/.env\"]", "@/ws/sub/.env", "hidden"},
		{"\"deny\": [\"*/.env\"]", "@/ws/sub/.env", "hidden"},
		{"\"deny\": [\"*/.env\"]", "@/ws/.env", "host"},
		{"\"deny\": [\"sub/d*p\"]", "@/ws/sub/deep/file", "hidden"},
		{"\"deny\": [\"s[tu]b/deep/?ile\"]", "@/ws/sub/deep/file", "hidden"},
		{"\"deny\": [\"@/out*/**/file\"]", "@/outside/data/file", "hidden"},
		{"\"deny\": [\"~/n*\"]", "@/home/notes", "hidden"},
		{"\"deny\": [\"../out*/log\"]", "@/outside/log", "hidden"},
		{"\"deny\": [\"lin?\"]", "@/ws/src/main.c", "hidden"},
		{"\"deny\": [\"secrets/**\"]", "@/ws/secrets/key.pem", "hidden"},
		{"\"deny\": [\"secrets/**\"]", "@/ws/secrets/open/note", "hidden"},
		{"\"deny\": [\"**/d*/**\"]", "@/ws/sub/deep/file", "hidden"},
		{"\"deny\": [\"~*/n?tes\"]", "@/home/notes", "hidden"},
		{"\"deny\": [\"nothing*\"]", "@/ws/README", "host"},
	};

	check_sights(cases, COUNT(cases));
}

/* "[" in the name of the workspace or the home is no pattern. */
Test(plan_rules, a_workspace_may_look_like_a_pattern)
{
	static const struct sight_case cases[] = {
		{"\"write\": [\".\"], \"deny\": [\"key\"]", "@/a[b]c*/key", "hidden"},
		{"\"write\": [\".\"], \"deny\": [\"**/.env\"]", "@/a[b]c*/sub/.env", "hidden"},
		{"\"write\": [\".\"], \"deny\": [\"../a[b]c*/sub\"]", "@/a[b]c*/key", "host, writable"},
		{"\"write\": [\".\"], \"deny\": [\"~/k?y\"]", "@/a[b]c*/key", "hidden"},
	};
	struct host host = world_host("full-user");
	struct world world;

	world_init(&world, "/var/tmp");
	world_add_file(&world, "@/a[b]c*/key", 0644);
	world_add_file(&world, "@/a[b]c*/sub/.env", 0644);
	(void)snprintf(world.home, sizeof world.home, "%s/a[b]c*", world.root);
	for (size_t i = 0; i < COUNT(cases); i++) {
		cleanup_free char *policy = NULL;
		cleanup_free char *path = world_text(&world, cases[i].path);
		struct sight sight;

		cr_assert_gt(asprintf(&policy, "{\"version\": 1, \"filesystem\": {%s}}", cases[i].files), 0);
		cleanup_planned struct planned planned = world_plan_at(&world, &host, policy, world.home);
		cr_assert_not_null(planned.plan, "%s", planned_reason(&planned));
		sight = plan_sight(planned.plan, path);
		cr_expect_str_eq(show(&sight), cases[i].seen, "%s", cases[i].files);
	}
	world_done(&world);
}

Test(plan_rules, binds_and_tmpfs_cover)
{
	static const struct sight_case cases[] = {
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/ws/src\", \"write\": true}]", "@/ws/src/log",
			"host, writable"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/ws/src\", \"write\": false}]", "@/ws/src/log",
			"host"},
		{"\"bind\": [{\"source\": \"@/outside/log\", \"target\": \"@/ws/README\", \"write\": true}]",
			"@/ws/README", "host, writable"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/home/a/b\", \"write\": false}]",
			"@/home/a/b/log", "host"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/home/a/b\", \"write\": false}]",
			"@/home/notes", "host"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/home/a/b\", \"write\": false}]", "@/home/a",
			"ours"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"/made-up/b\", \"write\": false}]",
			"/usr/bin/env", "host"},
		{"\"root\": \"empty\", \"bind\": [{\"source\": \"@/outside\", \"target\": \"/made-up/b\", \"write\": true}]",
			"/made-up/b/log", "host, writable"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/ws/src\", \"write\": true}], \"deny\": [\"src/log\"]",
			"@/ws/src/log", "hidden"},
		{"\"bind\": [{\"source\": \"@/outside\", \"target\": \"@/ws/src\", \"write\": true}], \"protect\": [\"src/log\"]",
			"@/ws/src/log", "host"},
		{"\"tmpfs\": [{\"path\": \"src\", \"size\": \"1M\"}]", "@/ws/src/main.c", "ours"},
		{"\"tmpfs\": [{\"path\": \"src\"}], \"write\": [\".\"]", "@/ws/README", "host, writable"},
		{"\"tmpfs\": [{\"path\": \"secrets\"}], \"read\": [\"secrets/open\"]", "@/ws/secrets/open/note", "host"},
	};

	check_sights(cases, COUNT(cases));
}

/* A bind shows a tree at a second place, not what is denied or protected in it. */
Test(plan_rules, a_bind_is_no_way_around)
{
	static const struct sight_case cases[] = {
		{"\"deny\": [\"secrets\"], \"bind\": [{\"source\": \".\", \"target\": \"@/home/a\", \"write\": false}]",
			"@/home/a/secrets/key.pem", "hidden"},
		{"\"deny\": [\"**/.env\"], \"bind\": [{\"source\": \"sub\", \"target\": \"@/outside/data\", \"write\": true}]",
			"@/outside/data/.env", "hidden"},
		{"\"deny\": [\"**/.env\"], \"bind\": [{\"source\": \"sub\", \"target\": \"@/outside/data\", \"write\": true}]",
			"@/outside/data/deep/file", "host, writable"},
		{"\"bind\": [{\"source\": \"~/\", \"target\": \"@/outside/data\", \"write\": false}]",
			"@/outside/data/.ssh/id_ed25519", "hidden"},
		{"\"bind\": [{\"source\": \"~/\", \"target\": \"@/outside/data\", \"write\": false}]",
			"@/outside/data/notes", "host"},
		{"\"protect\": [\".git/hooks\"], \"bind\": [{\"source\": \".git\", \"target\": \"@/outside/data\","
		 "\"write\": true}]",
			"@/outside/data/hooks", "host"},
		{"\"bind\": [{\"source\": \"~/.ssh\", \"target\": \"@/outside/data\", \"write\": false}]",
			"@/outside/data/id_ed25519", "host"},
	};

	check_sights(cases, COUNT(cases));
}

Test(plan_rules, what_is_global_in_proc_can_be_denied)
{
	static const struct sight_case cases[] = {
		{"\"deny\": [\"/proc/meminfo\"]", "/proc/meminfo", "hidden"},
		{"\"deny\": [\"/proc/sys/kernel\"]", "/proc/sys/kernel/hostname", "hidden"},
		{"\"deny\": [\"/sys\"]", "/sys/kernel", "hidden"},
		{"\"deny\": [\"/dev/tty\"]", "/dev/tty", "hidden"},
	};

	check_sights(cases, COUNT(cases));
}

Test(plan_rules, mistakes_are_told)
{
	static const struct {
		const char *files, *says;
	} cases[] = {
		{"\"write\": [\"src\"], \"deny\": [\".\"]", "denied"},
		{"\"write\": [\"away\"]", "leads out of the workspace"},
		{"\"read\": [\"away\"]", "leads out of the workspace"},
		{"\"bind\": [{\"source\": \"away\", \"target\": \"/opt/x\"}]", "leads out of the workspace"},
		{"\"tmpfs\": [{\"path\": \"away\"}]", "leads out of the workspace"},
		{"\"write\": [\"@/ws/sub/deep\"], \"deny\": [\"s*\"]", "denied"},
		{"\"write\": [\"away/..\"]", "leads out"},
		{"\"read\": [\"away/../log\"]", "leads out"},
		{"\"write\": [\"missing\"]", "missing"},
		{"\"bind\": [{\"source\": \"missing\", \"target\": \"/opt/x\", \"write\": false}]", "missing"},
		{"\"deny\": [\"../../../../../../../../../../x\"]", "root"},
		{"\"write\": [\".\"], \"tmpfs\": [{\"path\": \"made/up\"}]", "does not exist"},
		{"\"write\": [\".\"], \"bind\": [{\"source\": \"src\", \"target\": \"@/ws/made/up\", \"write\": false}]",
			"does not exist"},
		{"\"deny\": [\"*/../src\"]", "behind a pattern"},
		{"\"deny\": [\"/proc\"]", "global"},
		{"\"deny\": [\"/proc/self/environ\"]", "global"},
		{"\"root\": \"@/nowhere\"", "nowhere"},
		{"\"root\": \"@/outside/log\"", "log"},
	};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < COUNT(cases); i++) {
		cleanup_planned struct planned planned = plan_files(&world, "full-user", cases[i].files);

		cr_expect_null(planned.plan, "%s", cases[i].files);
		cr_expect_eq(planned.err.code, ERROR_POLICY_INVALID, "%s: %s", cases[i].files, planned.err.text);
		cr_expect(strstr(planned.err.text, cases[i].says) != NULL ||
				(planned.diag.n > 0 && strstr(planned_reason(&planned), cases[i].says) != NULL),
			"%s: %s", cases[i].files, planned.err.text);
	}
	world_done(&world);
}

static bool is_ancestor(const struct world *world, const struct plan *plan, const char *text)
{
	cleanup_free char *path = world_text(world, text);

	for (size_t i = 0; i < plan->n_ancestors; i++) {
		if (strcmp(plan->ancestors[i], path) == 0)
			return true;
	}
	return false;
}

/* Above a mask all directories count, above a read-only name those in the writable tree. */
Test(plan_rules, directories_above_masks_are_told)
{
	for (size_t j = 0; j < COUNT(hosts); j++) {
		struct world world;
		cleanup_planned struct planned masked = {0};
		cleanup_planned struct planned pinned = {0};

		world_init(&world, "/var/tmp");
		masked = plan_files(&world, hosts[j], "\"write\": [\".\"], \"deny\": [\"secrets/open/note\"]");
		pinned = plan_files(&world, hosts[j], "\"write\": [\".\"], \"protect\": [\"sub/deep/file\"]");
		cr_expect(is_ancestor(&world, masked.plan, "@/ws/secrets/open"));
		cr_expect(is_ancestor(&world, masked.plan, "@/ws/secrets"));
		cr_expect(is_ancestor(&world, masked.plan, "@/ws"));
		cr_expect(is_ancestor(&world, masked.plan, "@"));
		cr_expect(!is_ancestor(&world, masked.plan, "@/ws/sub"));
		cr_expect(is_ancestor(&world, pinned.plan, "@/ws/sub/deep"));
		cr_expect(is_ancestor(&world, pinned.plan, "@/ws/sub"));
		cr_expect(!is_ancestor(&world, pinned.plan, "@/ws"));
		world_done(&world);
	}
}
