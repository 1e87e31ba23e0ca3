#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "tests/unit/harness.h"

TestSuite(error, .fini = harness_leak_check);

static const char *message_of(const struct error *err, char buf[1024])
{
	return error_message(err, buf, 1024);
}

Test(error, set_fills_a_fresh_record)
{
	struct error err;
	char message[1024];

	memset(&err, 0x55, sizeof err);
	cr_expect_eq(error_set(&err, ERROR_POLICY_INVALID, "check", "bad %s", "field"), -1);
	cr_expect_eq(err.code, ERROR_POLICY_INVALID);
	cr_expect_eq(err.sys_errno, 0);
	cr_expect_eq(err.retryable, ERROR_RETRY_UNKNOWN);
	cr_expect_eq(err.n_context, 0);
	cr_expect_str_empty(err.op);
	cr_expect_str_empty(err.fix);
	cr_expect_str_eq(err.where, "check");
	cr_expect_str_eq(message_of(&err, message), "bad field (policy_invalid)");
}

Test(error, errno_is_kept_and_put_into_words)
{
	struct error err;
	char message[1024];

	cr_expect_eq(error_set_errno(&err, ERROR_IO, ENOENT, "open", "cannot open %s", "x"), -1);
	cr_expect_eq(err.sys_errno, ENOENT);
	error_set_fix(&err, "make %s", "it");
	cr_expect_str_eq(message_of(&err, message), "cannot open x: No such file or directory; make it (io)");
}

Test(error, unknown_errno_has_no_word)
{
	struct error err;
	char message[1024];

	(void)error_set_errno(&err, ERROR_IO, 99999, "open", "odd");
	cr_expect_str_eq(message_of(&err, message), "odd (io)");
	cr_expect_str_eq(error_errno_name(99999), "E?");
	cr_expect_str_eq(error_errno_name(-1), "E?");
	cr_expect_str_eq(error_errno_name(ENOSPC), "ENOSPC");
}

Test(error, out_of_memory_has_its_own_code)
{
	struct error err;
	char message[1024];

	(void)error_set_errno(&err, ERROR_IO, ENOMEM, "mmap", "cannot map");
	cr_expect_eq(err.code, ERROR_NO_MEMORY);
	cr_expect_str_eq(message_of(&err, message), "cannot map: Cannot allocate memory (no_memory)");
	cr_expect_eq(error_no_memory(&err), -1);
	cr_expect_str_eq(message_of(&err, message), "out of memory (no_memory)");
}

Test(error, null_is_accepted_everywhere)
{
	cr_expect_eq(error_set(NULL, ERROR_IO, "x", "y"), -1);
	cr_expect_eq(error_set_errno(NULL, ERROR_IO, EIO, "x", "y"), -1);
	cr_expect_eq(error_prefix(NULL, "x"), -1);
	cr_expect_eq(error_no_memory(NULL), -1);
	error_set_fix(NULL, "x");
	error_add_context(NULL, "key", "value");
}

Test(error, prefix_goes_in_front_and_keeps_the_rest)
{
	struct error err;

	(void)error_set_errno(&err, ERROR_NOT_FOUND, ENOENT, "open", "cannot open");
	error_add_context(&err, "path", "/x");
	cr_expect_eq(error_prefix(&err, "policy %s", "p"), -1);
	cr_expect_eq(error_prefix(&err, "run"), -1);
	cr_expect_str_eq(err.text, "run: policy p: cannot open");
	cr_expect_eq(err.code, ERROR_NOT_FOUND);
	cr_expect_eq(err.sys_errno, ENOENT);
	cr_expect_str_eq(err.context[0].value, "/x");
}

Test(error, arguments_may_lie_in_the_record)
{
	struct error err;

	(void)error_set(&err, ERROR_IO, "a step", "inner");
	(void)error_prefix(&err, "%s", err.text);
	cr_expect_str_eq(err.text, "inner: inner");
	(void)error_set(&err, ERROR_LIMIT, err.where, "was: %s", err.text);
	cr_expect_str_eq(err.text, "was: inner: inner");
	cr_expect_str_eq(err.where, "a step");
}

/* Two-byte characters at even and at odd offsets, so that a blind cut would split one in every field. */
static void fill_with_umlauts(char *s, size_t size, size_t shift)
{
	memset(s, 'x', shift);
	for (size_t i = shift; i + 2 < size; i += 2)
		memcpy(s + i, "ä", 3);
}

Test(error, long_texts_are_cut_at_a_character)
{
	for (size_t shift = 0; shift < 2; shift++) {
		char text[2000] = "", small[40];
		struct error err;

		fill_with_umlauts(text, sizeof text, shift);
		(void)error_set(&err, ERROR_IO, text, "%s", text);
		error_set_fix(&err, "%s", text);
		error_add_context(&err, text, text);
		(void)error_prefix(&err, "%s", text);
		cr_expect(str_utf8_valid(err.text, strlen(err.text)));
		cr_expect(str_utf8_valid(err.where, strlen(err.where)));
		cr_expect(str_utf8_valid(err.fix, strlen(err.fix)));
		cr_expect(str_utf8_valid(err.context[0].key, strlen(err.context[0].key)));
		cr_expect(str_utf8_valid(err.context[0].value, strlen(err.context[0].value)));
		cr_expect_geq(strlen(err.text), sizeof err.text - 3, "not more is cut than needed");
		cr_expect_eq(error_message(&err, small, sizeof small), small);
		cr_expect(str_utf8_valid(small, strlen(small)));
	}
}

Test(error, message_of_any_size)
{
	struct error err;
	char buf[8] = "xxxxxxx";

	(void)error_set(&err, ERROR_IO, "x", "text");
	cr_expect_eq(error_message(&err, buf, 0), buf);
	cr_expect_str_eq(buf, "xxxxxxx");
	cr_expect_str_eq(error_message(&err, buf, 1), "");
	cr_expect_str_eq(error_message(&err, buf, 5), "text");
}

Test(error, surplus_context_is_dropped)
{
	struct error err;

	(void)error_set(&err, ERROR_IO, "x", "y");
	for (int i = 0; i < ERROR_CONTEXT_MAX + 3; i++)
		error_add_context(&err, "key", "value");
	cr_expect_eq(err.n_context, ERROR_CONTEXT_MAX);
	cr_expect_str_eq(err.text, "y");
}

Test(error, every_code_has_its_word)
{
	for (int i = 0; i < _ERROR_CODE_COUNT; i++) {
		cr_assert_not_null(error_code_name((enum error_code)i));
		for (int j = 0; j < i; j++)
			cr_expect_str_neq(error_code_name((enum error_code)i), error_code_name((enum error_code)j));
	}
	cr_expect_str_eq(error_code_name(ERROR_WORKSPACE_ROOT_NOT_FOUND), "workspace_root_not_found");
	cr_expect_str_eq(error_code_name((enum error_code)_ERROR_CODE_COUNT), "internal");
	cr_expect_str_eq(error_code_name((enum error_code) - 1), "internal");
}

/* A record whose every byte another process chose. */
Test(error, receives_a_record_within_its_bounds)
{
	struct error record, err;
	char message[1024];

	memset(&record, 'x', sizeof record);
	cr_expect_eq(error_receive(&err, &record), -1);
	cr_expect_eq(err.code, ERROR_INTERNAL);
	cr_expect_eq(err.retryable, ERROR_RETRY_UNKNOWN);
	cr_expect_eq(strlen(err.op), sizeof err.op - 1);
	cr_expect_eq(strlen(err.where), sizeof err.where - 1);
	cr_expect_eq(strlen(err.text), sizeof err.text - 1);
	cr_expect_eq(strlen(err.fix), sizeof err.fix - 1);
	cr_expect_eq(err.n_context, ERROR_CONTEXT_MAX);
	cr_expect_eq(strlen(err.context[3].value), sizeof err.context[3].value - 1);
	(void)message_of(&err, message);
	record.context[1].key[0] = '\0';
	(void)error_receive(&err, &record);
	cr_expect_eq(err.n_context, 1, "a key that is none ends the list");
	record = (struct error){0};
	(void)error_receive(&err, &record);
	cr_expect_eq(err.code, ERROR_INTERNAL, "a failure is an error");
	(void)error_set_errno(&record, ERROR_IO, ENOSPC, "write", "no room");
	error_add_context(&record, "path", "/x");
	(void)error_receive(&err, &record);
	cr_expect_eq(memcmp(&err, &record, sizeof err), 0, "what is in order is kept");
	cr_expect_eq(error_receive(NULL, &record), -1);
}
