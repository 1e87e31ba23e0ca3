/*
 * The kernel says ENOENT for a missing program, for a script whose interpreter is missing and for a binary whose loader
 * is missing, and EACCES for a directory, a file without the x bit and a mount without exec. init tells which path was
 * looked at, or what the program needs and was refused; here it becomes a sentence and, where one is known, a remedy.
 * Programs and interpreters are named by the confined side: they are printed escaped.
 */
#include "runtime/supervise/exec_failure.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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

/* For a program: what to look at, by the errno of its execve. */
static void add_remedy(int sys_errno, struct error *err)
{
	if (sys_errno == ENOEXEC)
		error_set_fix(err, "a script needs a first line such as #!/bin/sh, a program must be for this machine");
	else if (sys_errno == EACCES)
		error_set_fix(err, "it must be a file with the x bit, readable inside and not on a noexec mount");
	else if (sys_errno == E2BIG)
		error_set_fix(err, "its arguments and environment together are too long");
}

static bool ends_in_carriage_return(const char *s)
{
	size_t size = strlen(s);

	return size > 0 && s[size - 1] == '\r';
}

static void explain_interpreter(const struct init_event *event, const char *name, struct error *err)
{
	char interpreter[NAME_MAX_SHOWN];
	bool missing = code_of(event->sys_errno) == ERROR_NOT_FOUND;

	(void)str_printable(event->text, interpreter, sizeof interpreter);
	(void)error_set_errno(err, code_of(event->sys_errno), event->sys_errno, "exec",
		"cannot execute \"%s\": its interpreter \"%s\" %s", name, interpreter,
		missing ? "is missing inside the boundary" : "cannot be executed");
	if (ends_in_carriage_return(event->text))
		error_set_fix(err, "the lines of the script end as on DOS: take the carriage returns away");
	else if (event->sys_errno == ELOOP)
		error_set_fix(err, "it is a script itself, and so is that one's: name a program");
	else
		add_remedy(event->sys_errno, err);
}

static void explain_loader(const struct init_event *event, const char *name, struct error *err)
{
	char loader[NAME_MAX_SHOWN];
	bool missing = code_of(event->sys_errno) == ERROR_NOT_FOUND;

	(void)str_printable(event->text, loader, sizeof loader);
	(void)error_set_errno(err, code_of(event->sys_errno), event->sys_errno, "exec",
		"cannot execute \"%s\": the loader \"%s\" that it was linked for %s", name, loader,
		missing ? "is missing inside the boundary" : "cannot be executed");
	if (missing)
		error_set_fix(err, "it is for another system or C library, or the policy does not show the loader");
	else
		add_remedy(event->sys_errno, err);
}

static void explain_exec(const struct init_event *event, const char *program, struct error *err)
{
	char name[NAME_MAX_SHOWN];

	(void)str_printable(program, name, sizeof name);
	if (event->need == INIT_NEED_INTERPRETER) {
		explain_interpreter(event, name, err);
	} else if (event->need == INIT_NEED_LOADER) {
		explain_loader(event, name, err);
	} else {
		(void)error_set_errno(
			err, code_of(event->sys_errno), event->sys_errno, "exec", "cannot execute \"%s\"", name);
		add_remedy(event->sys_errno, err);
	}
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
