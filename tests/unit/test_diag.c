/* The list of mistakes: nothing is lost, and a lack of memory can never look like "no mistake". */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "tests/unit/harness.h"

TestSuite(diag, .fini = harness_leak_check);

Test(diag, empty_is_fine)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	cr_assert_eq(diag_check(&diag, ERROR_POLICY_INVALID, &err), 0);
}

Test(diag, warnings_are_kept_and_are_no_errors)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	diag_warning(&diag, "a:%d: odd", 1);
	cr_assert_eq(diag_check(&diag, ERROR_POLICY_INVALID, &err), 0);
	cr_assert_eq(diag.n, 1);
	cr_assert(diag.entries[0].warning);
	cr_assert_str_eq(diag.entries[0].text, "a:1: odd");
}

Test(diag, one_error_is_told_alone)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	diag_warning(&diag, "odd");
	diag_error(&diag, "wrong");
	cr_assert_eq(diag_check(&diag, ERROR_POLICY_INVALID, &err), -1);
	cr_assert_eq(err.code, ERROR_POLICY_INVALID);
	cr_assert_str_eq(err.text, "wrong");
}

Test(diag, many_errors_are_kept_in_order_and_counted)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	for (int i = 0; i < 100; i++)
		diag_error(&diag, "wrong %d", i);
	cr_assert_eq(diag.n, 100);
	cr_assert_eq(diag.n_errors, 100);
	for (int i = 0; i < 100; i++) {
		char text[20];

		(void)snprintf(text, sizeof text, "wrong %d", i);
		cr_assert_str_eq(diag.entries[i].text, text);
	}
	cr_assert_eq(diag_check(&diag, ERROR_POLICY_INVALID, &err), -1);
	cr_assert_str_eq(err.text, "wrong 0 (and 99 more)");
}

Test(diag, memory_that_ran_out_is_an_error)
{
	cleanup_diag struct diag diag = {.failed = true};
	struct error err = {};

	cr_assert_eq(diag_check(&diag, ERROR_POLICY_INVALID, &err), -1);
	cr_assert_eq(err.code, ERROR_NO_MEMORY);
}
