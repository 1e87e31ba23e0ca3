#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/workspace/git_refs.h"
#include "tests/unit/harness.h"

TestSuite(git_refs, .fini = harness_leak_check, .timeout = 20);

#define A  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A2 "aaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define B  "1234567890123456789012345678901234567890"
#define L  "1234567890123456789012345678901234567890123456789012345678901234"

static const char list[] = A "\tHEAD\n" A "\trefs/heads/main\n" B "\trefs/heads/both\n" A "\trefs/heads/deadbeef\n" A
			     "\trefs/notes/commits\n" A2 "\trefs/pull/1/head\n" A "\trefs/tags/both\n" B
			     "\trefs/tags/v1\n" A "\trefs/tags/v1^{}\n";

static const struct {
	const char *asked;
	enum git_want want;
	const char *meant;
} rows[] = {
	{NULL, GIT_WANT_REF, "HEAD"},
	{"main", GIT_WANT_REF, "refs/heads/main"},
	{"v1", GIT_WANT_REF, "refs/tags/v1"},
	{"both", GIT_WANT_REF, "refs/heads/both"},
	{"tags/both", GIT_WANT_REF, "refs/tags/both"},
	{"heads/both", GIT_WANT_REF, "refs/heads/both"},
	{"refs/tags/both", GIT_WANT_REF, "refs/tags/both"},
	{"refs/notes/commits", GIT_WANT_REF, "refs/notes/commits"},
	{"deadbeef", GIT_WANT_REF, "refs/heads/deadbeef"},
	{"1234567", GIT_WANT_ID_OF_A_REF, B},
	{"aaaaaaabbb", GIT_WANT_ID_OF_A_REF, A2},
	{"fffffff", GIT_WANT_ID_IN_PART, ""},
	{"ffffff", GIT_WANT_NOTHING, NULL},  /* too short */
	{"aaaaaaa", GIT_WANT_NOTHING, NULL}, /* two begin so */
	{"nothing", GIT_WANT_NOTHING, NULL},
	{"ain", GIT_WANT_NOTHING, NULL},
	{"v1^{}", GIT_WANT_REF, "refs/tags/v1^{}"}, /* refused before it comes here */
	{B, GIT_WANT_ID_IN_FULL, B},
	{L, GIT_WANT_ID_IN_FULL, L},
	{"ffffffffffffffffffffffffffffffffffffffff", GIT_WANT_ID_IN_FULL, "ffffffffffffffffffffffffffffffffffffffff"},
	{"FFFFFFF", GIT_WANT_NOTHING, NULL},
};

static void check_row(size_t i, size_t piece)
{
	struct git_refs refs;
	struct error err = {0};
	int r;

	git_refs_begin(&refs, rows[i].asked);
	for (size_t at = 0; at < sizeof list - 1; at += piece) {
		size_t size = sizeof list - 1 - at < piece ? sizeof list - 1 - at : piece;

		harness_ok(git_refs_hear(&refs, list + at, size, &err), &err);
	}
	r = git_refs_end(&refs, &err);
	cr_expect_eq(r, rows[i].meant != NULL ? 0 : -1, "%s", rows[i].asked);
	if (r < 0) {
		cr_expect_eq(err.code, ERROR_GIT_CLONE);
		return;
	}
	cr_expect_eq(refs.want, rows[i].want, "%s: %d", rows[i].asked, refs.want);
	cr_expect_str_eq(refs.want == GIT_WANT_REF ? refs.name : refs.id, rows[i].meant);
	cr_expect_eq(refs.id_length, rows[i].meant == NULL || strcmp(rows[i].meant, L) != 0 ? 40 : 64);
}

Test(git_refs, finds_what_is_meant)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		check_row(i, 1);
		check_row(i, 7);
		check_row(i, sizeof list);
	}
}

Test(git_refs, refuses_what_is_no_list)
{
	static const char *const bad[] = {"\n", "x\n", A "\n", A " HEAD\n", "aaaa\tHEAD\n", A "a\tHEAD\n", "-" A "\tx\n"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct git_refs refs;
		struct error err = {0};

		git_refs_begin(&refs, NULL);
		cr_expect_eq(git_refs_hear(&refs, bad[i], strlen(bad[i]), &err), -1, "%s", bad[i]);
		cr_expect_eq(err.code, ERROR_GIT_CLONE);
	}
}

Test(git_refs, an_empty_repository)
{
	struct git_refs refs;
	struct error err = {0};

	git_refs_begin(&refs, NULL);
	cr_expect_eq(git_refs_end(&refs, &err), -1);
	git_refs_begin(&refs, "abcdef12");
	cr_expect_eq(git_refs_end(&refs, &err), -1);
}

Test(git_refs, a_line_without_an_end)
{
	struct git_refs refs;
	struct error err = {0};
	char line[2048];

	memset(line, 'a', sizeof line);
	git_refs_begin(&refs, NULL);
	cr_expect_eq(git_refs_hear(&refs, line, sizeof line, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
}
