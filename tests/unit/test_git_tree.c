#include <criterion/criterion.h>
#include <limits.h>
#include <string.h>

#include "runtime/workspace/git_tree.h"
#include "tests/unit/harness.h"

TestSuite(git_tree, .fini = harness_leak_check, .timeout = 20);

#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* With the NUL that ends a string literal as the end of the record. */
static const char list[] = "100644 blob " ID "       5\ta\0"
			   "100755 blob " ID " 1000\tdir/with space\tand tab\0"
			   "160000 commit " ID "       -\tsubmodule\0"
			   "120000 blob " ID "      11\tlink";

static int judge(const char *text, size_t size, size_t piece, uint64_t files, uint64_t bytes, struct error *err)
{
	struct git_tree tree = {.files_max = files, .bytes_max = bytes};

	for (size_t at = 0; at < size; at += piece) {
		if (git_tree_hear(&tree, text + at, size - at < piece ? size - at : piece, err) < 0)
			return -1;
	}
	return git_tree_end(&tree, err) < 0 ? -1 : (int)(tree.files * 10000 + tree.bytes);
}

Test(git_tree, counts)
{
	struct error err = {0};

	for (size_t piece = 1; piece < sizeof list; piece++)
		cr_expect_eq(harness_ok(judge(list, sizeof list, piece, 4, 1016, &err), &err), 41016);
	cr_expect_eq(judge(NULL, 0, 1, 0, 0, &err), 0, "an empty tree");
}

Test(git_tree, limits_name_the_file)
{
	struct error err = {0};

	cr_expect_eq(judge(list, sizeof list, 3, 3, 1016, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_not_null(strstr(err.text, "\"link\""), "%s", err.text);
	cr_expect_eq(judge(list, sizeof list, 3, 4, 1015, &err), -1);
	cr_expect_not_null(strstr(err.text, "\"link\""), "%s", err.text);
	cr_expect_eq(judge(list, sizeof list, 3, 4, 4, &err), -1);
	cr_expect_not_null(strstr(err.text, "\"a\""), "%s", err.text);
}

Test(git_tree, what_is_no_list)
{
	static const char *const bad[] = {"", "a", "100644 blob " ID " 5", "100644 blob " ID " x\ta", "5\ta",
		"100644 blob " ID " 99999999999999999999\ta", "100644 blob " ID " -1\ta"};
	struct error err = {0};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(judge(bad[i], strlen(bad[i]) + 1, 5, 10, 1000, &err), -1, "%s", bad[i]);
		cr_expect_eq(err.code, ERROR_GIT_CLONE, "%s", bad[i]);
	}
	cr_expect_eq(judge(list, sizeof list - 1, 5, 10, 2000, &err), -1, "the end is missing");
}

Test(git_tree, paths_have_an_end)
{
	static char text[3 * PATH_MAX] = "100644 blob " ID " 5\t";
	struct error err = {0};

	memset(text + strlen(text), 'a', sizeof text - strlen(text) - 1);
	cr_expect_eq(judge(text, sizeof text, 100, 10, 1000, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
}
