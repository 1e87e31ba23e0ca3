#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "runtime/supervise/exec_failure.h"
#include "tests/unit/harness.h"

TestSuite(exec_failure, .fini = harness_leak_check, .timeout = 20);

static const struct {
	enum init_exec_step step;
	int sys_errno;
	enum error_code code;
	const char *where;
} failures[] = {
	{INIT_STEP_EXEC, ENOENT, ERROR_NOT_FOUND, "exec"},
	{INIT_STEP_EXEC, ENOTDIR, ERROR_NOT_FOUND, "exec"},
	{INIT_STEP_EXEC, EACCES, ERROR_PERMISSION_DENIED, "exec"},
	{INIT_STEP_EXEC, ENOEXEC, ERROR_PERMISSION_DENIED, "exec"},
	{INIT_STEP_EXEC, E2BIG, ERROR_LIMIT, "exec"},
	{INIT_STEP_CHDIR, ENOENT, ERROR_NOT_FOUND, "chdir"},
	{INIT_STEP_CHDIR, EACCES, ERROR_PERMISSION_DENIED, "chdir"},
	{INIT_STEP_FILTER, EACCES, ERROR_IO, "seccomp"},
};

Test(exec_failure, has_a_code_for_each_reason)
{
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		struct init_event event = {.step = failures[i].step, .sys_errno = failures[i].sys_errno, .text = "/x"};
		struct error err = {0};

		exec_failure_explain(&event, "prog", &err);
		cr_expect_eq(err.code, failures[i].code, "%zu", i);
		cr_expect_eq(err.sys_errno, failures[i].sys_errno, "%zu", i);
		cr_expect_str_eq(err.where, failures[i].where, "%zu", i);
	}
}

Test(exec_failure, names_a_missing_interpreter_escaped)
{
	struct init_event event = {.step = INIT_STEP_EXEC, .sys_errno = ENOENT, .interpreter = 1, .text = "/no\033/such"};
	struct error err = {0};
	char message[512];

	exec_failure_explain(&event, "script", &err);
	(void)error_message(&err, message, sizeof message);
	cr_expect_not_null(strstr(message, "/no\\x1b/such"), "%s", message);
}
