#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "tests/unit/harness.h"

TestSuite(str_utf8, .fini = harness_leak_check);

Test(str_utf8, valid)
{
	static const struct {
		const char *bytes;
		size_t size;
		bool valid;
	} rows[] = {
		{"", 0, true},
		{"\0", 1, true},
		{"abc", 3, true},
		{"\x7f", 1, true},
		{"\x80", 1, false},
		{"\xc1\xbf", 2, false}, /* overlong */
		{"\xc2\x80", 2, true},
		{"\xc2", 1, false},
		{"\xc2 ", 2, false},
		{"\xdf\xbf", 2, true},
		{"\xe0\x9f\xbf", 3, false}, /* overlong */
		{"\xe0\xa0\x80", 3, true},
		{"\xe2\x82", 2, false},
		{"\xed\x9f\xbf", 3, true},
		{"\xed\xa0\x80", 3, false}, /* a surrogate */
		{"\xef\xbf\xbf", 3, true},
		{"\xf0\x8f\xbf\xbf", 4, false}, /* overlong */
		{"\xf0\x90\x80\x80", 4, true},
		{"\xf4\x8f\xbf\xbf", 4, true},
		{"\xf4\x90\x80\x80", 4, false}, /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", 4, false},
		{"\xff", 1, false},
		{"a\xf0\x9f\x90", 4, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(str_utf8_valid(rows[i].bytes, rows[i].size), rows[i].valid, "row %zu", i);
}

/* Wherever a valid text is cut, floor and ceiling leave two valid texts and lose one character at most. */
Test(str_utf8, any_cut_of_valid_text_leaves_valid_parts)
{
	const char *text = "aä€🐑\xf4\x8f\xbf\xbfz\xed\x9f\xbf";
	size_t size = strlen(text);

	for (size_t cut = 0; cut <= size; cut++) {
		size_t head = str_utf8_floor(text, cut), skipped = str_utf8_ceil(text + cut, size - cut);

		cr_assert_leq(head, cut);
		cr_assert_lt(cut - head, 4);
		cr_assert(str_utf8_valid(text, head), "head of %zu", cut);
		cr_assert_lt(skipped, 4);
		cr_assert(str_utf8_valid(text + cut + skipped, size - cut - skipped), "tail from %zu", cut);
		cr_assert((cut == head) == (skipped == 0), "at %zu both cut or neither", cut);
	}
}

Test(str_utf8, what_is_not_text_is_left_alone)
{
	static const char binary[] = "\x80\x80\x80\x80\x80\xff";

	cr_expect_eq(str_utf8_floor(binary, 5), 5);
	cr_expect_eq(str_utf8_floor(binary, 6), 6);
	cr_expect_eq(str_utf8_ceil(binary, 5), 0);
	cr_expect_eq(str_utf8_floor("a\xe0\x80", 3), 3, "no character begins so");
	cr_expect_eq(str_utf8_floor("", 0), 0);
	cr_expect_eq(str_utf8_ceil("", 0), 0);
	cr_expect_eq(str_utf8_ceil("\x80", 1), 1);
}

Test(str_utf8, char_lengths)
{
	cr_expect_eq(str_utf8_char("", 0), 0);
	cr_expect_eq(str_utf8_char("a", 1), 1);
	cr_expect_eq(str_utf8_char("äx", 3), 2);
	cr_expect_eq(str_utf8_char("€", 3), 3);
	cr_expect_eq(str_utf8_char("€", 2), 0);
	cr_expect_eq(str_utf8_char("🐑", 4), 4);
	cr_expect_eq(str_utf8_char("\xff", 1), 0);
}
