/*
 * The kernel says ENOENT for a missing program, for a script whose interpreter is missing and for a binary whose loader
 * is missing, and EACCES for a directory, a file without the x bit and a mount without exec. init tells which
 * path was looked at; here it becomes a sentence and, where one is known, a remedy. Programs and interpreters are named
 * by the confined side: they are printed escaped.
 */
#include "runtime/supervise/exec_failure.h"

#include <errno.h>
#include <stdbool.h>

#include "base/str.h"

#define NAME_MAX_SHOWN 160

struct step_words {
	const char *where;
	const char *text; /* what could not be done; followed by the path or detail that init gave */
};

static const struct step_words steps[] = {
	[INIT_STEP_NONE] = {"start", "cannot start the command"},
	[INIT_STEP_CHDIR] = {"chdir", "cannot enter the working directory"},
	[INIT_STEP_RLIMIT] = {"setrlimit", "cannot set a limit of the command"},
	[INIT_STEP_FILTER] = {"seccomp", "cannot load the system call filter"},
	[INIT_STEP_EXEC] = {"exec", "cannot execute"},
	[INIT_STEP_FORK] = {"fork", "cannot make the command's process"},
	[INIT_STEP_TTY] = {"tty", "cannot make the terminal the command's own"},
	[INIT_STEP_LANDLOCK] = {"landlock", "cannot fence the command in"},
};

static enum error_code code_of(int sys_errno)
{
	if (sys_errno == ENOENT || sys_errno == ENOTDIR)
		return ERROR_NOT_FOUND;
	return sys_errno == E2BIG ? ERROR_LIMIT : ERROR_PERMISSION_DENIED;
}

static void explain_exec(const struct init_event *event, const char *program, struct error *err)
{
	enum error_code code = code_of(event->sys_errno);
	char name[NAME_MAX_SHOWN], other[NAME_MAX_SHOWN];

	(void)str_printable(program, name, sizeof name);
	(void)str_printable(event->text, other, sizeof other);
	if (event->interpreter != 0) {
		(void)error_set_errno(err, code, event->sys_errno, "exec",
			"cannot execute \"%s\": its interpreter \"%s\" is missing inside the boundary", name, other);
		return;
	}
	(void)error_set_errno(err, code, event->sys_errno, "exec", "cannot execute \"%s\"", name);
	if (event->sys_errno == ENOEXEC)
		error_set_fix(err, "a script needs a first line such as #!/bin/sh, a program must be for this machine");
	else if (event->sys_errno == EACCES)
		error_set_fix(err, "it must be a file with the x bit, readable inside and not on a noexec mount");
	else if (event->sys_errno == E2BIG)
		error_set_fix(err, "its arguments and environment together are too long");
}

void exec_failure_explain(const struct init_event *event, const char *program, struct error *ret_error)
{
	bool known = event->step < sizeof steps / sizeof *steps;
	const struct step_words *words = &steps[known ? event->step : INIT_STEP_NONE];
	char detail[NAME_MAX_SHOWN];

	if (event->step == INIT_STEP_EXEC) {
		explain_exec(event, program, ret_error);
		return;
	}
	(void)str_printable(event->text, detail, sizeof detail);
	(void)error_set_errno(ret_error, event->step == INIT_STEP_CHDIR ? code_of(event->sys_errno) : ERROR_IO,
		event->sys_errno, words->where, "%s%s%s", words->text, detail[0] == '\0' ? "" : ": ", detail);
	/* The kernel's word for it speaks of arguments. */
	if (event->step == INIT_STEP_LANDLOCK && event->sys_errno == E2BIG)
		error_set_fix(
			ret_error, "the kernel allows 16 Landlock fences within each other: start pinfold less deep");
}
