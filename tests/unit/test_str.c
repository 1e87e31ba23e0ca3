#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "tests/unit/harness.h"

TestSuite(str, .fini = harness_leak_check);

Test(str, equal_and_prefix)
{
	cr_expect(str_equal(NULL, NULL));
	cr_expect_not(str_equal(NULL, ""));
	cr_expect_not(str_equal("", NULL));
	cr_expect(str_equal("a", "a"));
	cr_expect_not(str_equal("a", "A"));
	cr_expect(str_starts_with("abc", ""));
	cr_expect(str_starts_with("abc", "abc"));
	cr_expect_not(str_starts_with("ab", "abc"));
}

Test(str, match)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything", true},
		{"**", "x", true},
		{"LC_*", "LC_ALL", true},
		{"LC_*", "LC_", true},
		{"LC_*", "LC", false},
		{"LC_*", "xLC_ALL", false},
		{"*_TOKEN", "GITHUB_TOKEN", true},
		{"*_TOKEN", "GITHUB_TOKENS", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*ab", "aab", true},
		{"*aab*", "aaaab", true},
		{"PATH", "PATHS", false},
		{"PATHS", "PATH", false},
		{"a?c", "abc", false},
		{"[a]", "a", false},
		{"*a", "ba*", false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(str_match(rows[i].pattern, rows[i].name), rows[i].matches, "\"%s\" against \"%s\"",
			rows[i].pattern, rows[i].name);
}

Test(str, match_is_not_exponential, .timeout = 5)
{
	char name[4000], pattern[201];

	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (size_t i = 0; i < 100; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	pattern[199] = 'b';
	pattern[200] = '\0';
	cr_expect_not(str_match(pattern, name));
}

Test(str, nearest)
{
	static const char *const words[] = {"memory", "memory_strategy", "processes", "cpus", "cpu_time", "read",
		"deny", "write", "network", "set", NULL};
	static const struct {
		const char *word, *nearest;
	} rows[] = {
		{"memry", "memory"},
		{"mmeory", "memory"},
		{"MEMORY", "memory"},
		{"process", "processes"},
		{"memory-strategy", "memory_strategy"},
		{"raed", "read"},
		{"cpu", "cpus"},
		{"est", "set"}, /* a transposition is one mistake, and a word of three may have one */
		{"wrote", "write"},
		{"x", NULL},
		{"", NULL},
		{"completely", NULL},
		{"dney", "deny"},
		{"netwrok", "network"},
		{"\xff\xfe", NULL},
	};
	char long_word[5000];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *nearest = str_nearest(rows[i].word, words);

		cr_expect(str_equal(nearest, rows[i].nearest), "\"%s\" gave %s", rows[i].word,
			nearest != NULL ? nearest : "nothing");
	}
	memset(long_word, 'm', sizeof long_word - 1);
	long_word[sizeof long_word - 1] = '\0';
	cr_expect_null(str_nearest(long_word, words));
	cr_expect_null(str_nearest("memory", (const char *const[]){long_word, NULL}));
	cr_expect_null(str_nearest("memory", (const char *const[]){NULL}));
}

Test(str, nearest_never_replaces_everything)
{
	cr_expect_null(str_nearest("ab", (const char *const[]){"x", NULL}));
	cr_expect_null(str_nearest("x", (const char *const[]){"p", NULL}));
	cr_expect_null(str_nearest("xy", (const char *const[]){"x", NULL}));
	cr_expect_null(str_nearest("w", (const char *const[]){"", NULL}));
}

Test(str, printable)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{NULL, ""}, {"", ""}, {"plain text", "plain text"}, {"Käse 🐑", "Käse 🐑"},
		{"a\nb\t\x7f", "a\\x0ab\\x09\\x7f"}, {"\x1b[2J", "\\x1b[2J"},
		{"say \"it's\" \\", "say \\x22it\\x27s\\x22 \\x5c"}, {"\xff\xc3", "\\xff\\xc3"},
		{"\xc2\x9b", "\\xc2\\x9b"}, {"\xe2\x80\xae txt", "\\xe2\\x80\\xae txt"},
		{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"}, {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
		{"\xe2\x80\x93", "\xe2\x80\x93"}, /* a dash is harmless */
	};
	char buf[64];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(str_printable(rows[i].text, buf, sizeof buf), rows[i].shown);
}

Test(str, printable_cuts_with_dots)
{
	char buf[32];

	cr_expect_str_eq(str_printable("0123456789", buf, 11), "0123456789");
	cr_expect_str_eq(str_printable("0123456789", buf, 10), "012345...");
	cr_expect_str_eq(str_printable("01234\n6789", buf, 10), "01234...");
	cr_expect_str_eq(str_printable("ääääää", buf, 10), "äää...");
	cr_expect_str_eq(str_printable("long", buf, 4), "...");
	cr_expect_str_eq(str_printable("long", buf, 3), "..");
	cr_expect_str_eq(str_printable("long", buf, 1), "");
	buf[0] = 'x';
	cr_expect_eq(str_printable("long", buf, 0), buf);
	cr_expect_eq(buf[0], 'x');
}

Test(str, printable_of_every_size_is_valid)
{
	const char *text = "Käse\n\xff 🐑🐑\x1b \"quoted\" \xe2\x80\xae and more";

	for (size_t size = 1; size < 120; size++) {
		char buf[128];

		memset(buf, '#', sizeof buf);
		(void)str_printable(text, buf, size);
		cr_assert_lt(strlen(buf), size);
		cr_assert(str_utf8_valid(buf, strlen(buf)));
		cr_assert_eq(buf[size], '#', "wrote beyond %zu", size);
	}
}
