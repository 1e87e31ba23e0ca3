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

static const struct {
	enum init_need need;
	int sys_errno;
	const char *text;
	const char *said, *remedy;
} needs[] = {
	{INIT_NEED_INTERPRETER, ENOENT, "/no\033/such", "\"prog\": its interpreter \"/no\\x1b/such\" is missing",
		"No such file"},
	{INIT_NEED_INTERPRETER, ENOENT, "/bin/sh\r", "interpreter \"/bin/sh\\x0d\" is missing", "carriage returns"},
	{INIT_NEED_INTERPRETER, EACCES, "/closed", "interpreter \"/closed\" cannot be executed", "x bit"},
	{INIT_NEED_INTERPRETER, ENOEXEC, "/text", "interpreter \"/text\" cannot be executed", "for this machine"},
	{INIT_NEED_INTERPRETER, ELOOP, "/script", "interpreter \"/script\" cannot be executed", "a script itself"},
	{INIT_NEED_LOADER, ENOENT, "/lib/ld-musl.so",
		"the loader \"/lib/ld-musl.so\" that it was linked for is missing", "another system or C library"},
	{INIT_NEED_LOADER, EACCES, "/lib/ld.so", "the loader \"/lib/ld.so\" that it was linked for cannot be", "x bit"},
};

Test(exec_failure, names_what_the_program_needs)
{
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		struct init_event event = {
			.step = INIT_STEP_EXEC, .sys_errno = needs[i].sys_errno, .need = needs[i].need};
		struct error err = {0};
		char message[512];

		strcpy(event.text, needs[i].text);
		exec_failure_explain(&event, "prog", &err);
		(void)error_message(&err, message, sizeof message);
		cr_expect_not_null(strstr(message, needs[i].said), "%zu: %s", i, message);
		cr_expect_not_null(strstr(message, needs[i].remedy), "%zu: %s", i, message);
		cr_expect_eq(
			err.code, needs[i].sys_errno == ENOENT ? ERROR_NOT_FOUND : ERROR_PERMISSION_DENIED, "%zu", i);
	}
}
