#include <criterion/criterion.h>
#include <string.h>

#include "base/monotime.h"
#include "runtime/workspace/exclude.h"
#include "tests/unit/harness.h"

TestSuite(exclude, .fini = harness_leak_check, .timeout = 20);

static const struct {
	const char *pattern, *path;
	bool directory, matches;
} rows[] = {
	{"*.o", "a.o", false, true},
	{"*.o", "deep/er/a.o", false, true},
	{"*.o", "a.o/x", false, false}, /* its directory a.o is not even entered */
	{"*.o", ".o", false, true},
	{"*.o", "a.oo", false, false},
	{"*", "anything", false, true},
	{"a", "a", false, true},
	{"a", "b/a", true, true},
	{"a", "ab", false, false},
	{"?", "x", false, true},
	{"?", "xy", false, false},
	{"?", "", false, false},
	{"[a-c]x", "bx", false, true},
	{"[a-c]x", "dx", false, false},
	{"[!a-c]x", "dx", false, true},
	{"[!a-c]x", "ax", false, false},
	{"[]]", "]", false, true},
	{"[a-]", "-", false, true},
	{"\\*", "*", false, true},
	{"\\*", "x", false, false},
	{"a*b*c", "a-b-b-c", false, true},
	{"a*b*c", "a-b-b-d", false, false},
	{"a**c", "abc", false, true},
	{"build/", "build", true, true},
	{"build/", "build", false, false},
	{"build/", "src/build", true, true},
	{"/build", "build", true, true},
	{"/build", "src/build", true, false},
	{"a/b", "a/b", false, true},
	{"a/b", "x/a/b", false, false},
	{"a/b", "a/b/c", false, false},
	{"a/*", "a/b", false, true},
	{"a/*", "a/b/c", false, false},
	{"a/*/c", "a/b/c", false, true},
	{"**/x", "x", false, true},
	{"**/x", "a/b/x", false, true},
	{"**/x", "a/b/y", false, false},
	{"a/**/x", "a/x", false, true},
	{"a/**/x", "a/b/c/x", false, true},
	{"a/**/x", "b/c/x", false, false},
	{"a/**", "a/b/c", false, true},
	{"a/**/b/**/c", "a/1/b/2/b/3/c", false, true},
	{"a/**/b/**/c", "a/1/2/3/c", false, false},
	{"a//b", "a/b", false, true},
	{"a/b/", "a/b", true, true},
	{"a/b/", "a/b", false, false},
};

Test(exclude, matches_by_the_table)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(exclude_matches(rows[i].pattern, rows[i].path, rows[i].directory), rows[i].matches,
			"\"%s\" of \"%s\"", rows[i].pattern, rows[i].path);
}

Test(exclude, tells_what_is_no_pattern)
{
	static const char *const bad[] = {"", "/", "//", "..", "a/../b", "./a", "a/.", "[a", "[", "[]", "a/[!", "x\\"};
	static const char *const good[] = {"a", "*.o", "...", "[a]", "[]]", "a/**/b", "\\[", "x\\\\", ".git/"};
	struct error err = {0};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(exclude_check(bad[i], &err), -1, "%s", bad[i]);
		cr_expect_eq(err.code, ERROR_SANDBOX_CONFIG_INVALID);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		harness_ok(exclude_check(good[i], &err), &err);
}

/* What a matcher that tries every way would be busy with for years. */
Test(exclude, takes_its_time_from_nobody)
{
	char pattern[2000] = "", name[256], path[4000] = "";
	uint64_t begin = monotime_ns();

	for (int i = 0; i < 100; i++)
		strcat(pattern, "*a");
	strcat(pattern, "*b");
	memset(name, 'a', 255);
	name[255] = '\0';
	cr_expect_not(exclude_matches(pattern, name, false));
	pattern[0] = '\0';
	for (int i = 0; i < 300; i++)
		strcat(pattern, "**/a/");
	strcat(pattern, "b");
	for (int i = 0; i < 1900; i++)
		strcat(path, "a/");
	strcat(path, "c");
	cr_expect_not(exclude_matches(pattern, path, false));
	cr_expect_lt(monotime_ns() - begin, NS_PER_S);
}
