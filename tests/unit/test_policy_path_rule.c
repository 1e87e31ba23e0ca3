/* Paths as text: what they are tidied to, what lies below what, and which spellings of forbidden places are seen through. */
#include <criterion/criterion.h>

#include "runtime/policy/path_rule.h"
#include "tests/unit/harness.h"

TestSuite(policy_path_rule, .fini = harness_leak_check);

Test(policy_path_rule, tidy)
{
	static const char *const rows[][2] = {
		{"/", "/"},
		{"//a//b/./c/", "/a/b/c"},
		{".", "."},
		{"./", "."},
		{"././a", "a"},
		{"a/../b", "a/../b"},
		{"~", "~/"},
		{"~/", "~/"},
		{"~/./a/", "~/a"},
		{"~*/a//b", "~*/a/b"},
		{"./~", "./~"},
		{"./~/a", "./~/a"},
		{".//./~bob/", "./~bob"},
		{"/~", "/~"},
		{"a/~", "a/~"},
		{"**/.env", "**/.env"},
	};
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct error err = {};

	harness_ok(arena_new(&arena, &err), &err);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *tidy = policy_path_tidy(arena, rows[i][0]);

		cr_assert_not_null(tidy);
		cr_expect_str_eq(tidy, rows[i][1], "%s: %s", rows[i][0], tidy);
		cr_expect_str_eq(policy_path_tidy(arena, tidy), tidy, "%s: not stable", tidy);
	}
}

Test(policy_path_rule, below)
{
	static const struct {
		const char *path, *above;
		bool below;
	} rows[] = {
		{"/a/b", "/a", true},
		{"/ab", "/a", false},
		{"/a", "/a", false},
		{"/a", "/", true},
		{"/", "/", false},
		{"a", ".", true},
		{".", ".", false},
		{"/a", ".", false},
		{"~/a", ".", false},
		{"a/b", "a", true},
		{"~/a", "~/", true},
		{"~/", "~/", false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(policy_path_is_below(rows[i].path, rows[i].above), rows[i].below, "%s below %s",
			rows[i].path, rows[i].above);
}

Test(policy_path_rule, kernel_trees_in_every_spelling)
{
	static const char *const bad[] = {"/proc", "/proc/", "//proc/self", "/./sys", "/a/../dev", "/a/b/../../proc/1",
		"/../sys", "/../../dev/shm", "/dev/."};
	static const char *const good[] = {"/process", "/a/proc", "/dev/../a", "/sys/..a/../../b", "proc", "/devel"};
	static const enum policy_path_use uses[] = {PATH_WRITE, PATH_BIND_TARGET, PATH_TMPFS};

	for (size_t u = 0; u < sizeof uses / sizeof *uses; u++) {
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			cr_expect_not_null(policy_path_fault(bad[i], uses[u]), "%s", bad[i]);
		for (size_t i = 0; i < sizeof good / sizeof *good; i++)
			if (uses[u] != PATH_BIND_TARGET || good[i][0] == '/')
				cr_expect_null(policy_path_fault(good[i], uses[u]), "%s", good[i]);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_null(policy_path_fault(bad[i], PATH_DENY), "%s", bad[i]);
}
