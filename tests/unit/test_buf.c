#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/unit/harness.h"

TestSuite(buf, .fini = harness_leak_check);

Test(buf, empty_reads_as_empty_string)
{
	cleanup_buf struct buf buf = {0};

	cr_expect_str_empty(buf_str(&buf));
	buf_append(&buf, NULL, 0);
	cr_expect_str_empty(buf_str(&buf));
	cr_expect_eq(buf_check(&buf, NULL), 0);
}

Test(buf, appends_of_every_kind)
{
	cleanup_buf struct buf buf = {0};

	buf_append_str(&buf, "one");
	buf_append_char(&buf, ' ');
	buf_printf(&buf, "%s %d", "two", 3);
	buf_append(&buf, "\0x", 2);
	cr_expect_eq(buf.size, 11);
	cr_expect_arr_eq(buf.data, "one two 3\0x", 12, "the byte behind the last is NUL");
}

Test(buf, grows_over_every_boundary)
{
	cleanup_buf struct buf buf = {0};

	for (size_t i = 0; i < 5000; i++) {
		buf_append_char(&buf, (char)('a' + i % 26));
		cr_assert_eq(buf.size, i + 1);
		cr_assert_eq(buf.data[i + 1], '\0');
		cr_assert_gt(buf.allocated, buf.size);
	}
	for (size_t i = 0; i < 5000; i++)
		cr_assert_eq(buf.data[i], (char)('a' + i % 26));
	buf_printf(&buf, "%9000d", 5);
	cr_expect_eq(buf.size, 14000);
	cr_expect_eq(buf.data[13999], '5');
}

Test(buf, reset_keeps_memory)
{
	cleanup_buf struct buf buf = {0};
	char *data;

	buf_append_str(&buf, "text");
	data = buf.data;
	buf_reset(&buf);
	cr_expect_str_empty(buf_str(&buf));
	buf_append_str(&buf, "new");
	cr_expect_eq(buf.data, data);
	cr_expect_str_eq(buf_str(&buf), "new");
}

Test(buf, steal_hands_over_and_starts_anew)
{
	struct buf buf = {0};
	char *text;

	text = buf_steal(&buf);
	cr_assert_not_null(text);
	cr_expect_str_empty(text);
	free(text);
	buf_append_str(&buf, "mine");
	text = buf_steal(&buf);
	cr_expect_str_eq(text, "mine");
	cr_expect_null(buf.data);
	cr_expect_eq(buf.size, 0);
	free(text);
}

Test(buf, failure_sticks_and_steals_nothing)
{
	struct buf buf = {0};
	struct error err = {0};

	buf_append_str(&buf, "kept");
	buf_append(&buf, "x", SIZE_MAX - 2);
	cr_expect(buf.failed);
	buf_append_str(&buf, "ignored");
	cr_expect_str_eq(buf_str(&buf), "kept");
	cr_assert_lt(buf_check(&buf, &err), 0);
	cr_expect_eq(err.code, ERROR_NO_MEMORY);
	cr_expect_null(buf_steal(&buf));
	cr_expect_null(buf.data, "what it held is freed");
	cr_expect_not(buf.failed);
}
