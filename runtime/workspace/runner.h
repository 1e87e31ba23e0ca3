/*
 * How runtime/workspace runs a program inside a boundary without knowing what a boundary is: whoever calls it brings a
 * runner. runtime/api fills it with pinfold's own pipeline.
 */
#ifndef WORKSPACE_RUNNER_H
#define WORKSPACE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/workspace/work.h"

/* Shows what an open descriptor leads to, whatever its path has come to mean, at an absolute path inside. */
struct runner_bind {
	int fd; /* of a file or directory that still has a name; O_PATH will do */
	const char *target;
};

/* One field of the policy ("limits.memory") and its text form, as a flag has it; of a list: one more entry. */
struct runner_setting {
	const char *field;
	const char *value;
};

struct runner_request {
	const char *what;               /* for messages: "the archive helper" */
	const char *policy;             /* a built-in: ":archive" */
	const char *const *argv;        /* NULL-terminated; argv[0] as it is found inside */
	const char *const *environment; /* "NAME=VALUE", NULL-terminated; NULL: nothing beside what pinfold sets */
	int directory_fd;               /* of a directory with a name: workspace and current directory */
	const struct runner_bind *binds;
	size_t n_binds;
	const struct runner_setting *settings;
	size_t n_settings;
	/* What it writes, as it comes; stream is 1 or 2. -1 with err set ends the run with that error. NULL: nobody. */
	int (*output)(void *context, int stream, const void *data, size_t size, struct error *err);
	void *context;
	/* Called now and then while it runs. -1 with err set ends the run with that error. NULL: nobody. */
	int (*watch)(void *watched, struct error *err);
	void *watched;
	struct work *work; /* its cancellation ends the run; nothing is counted. NULL: none */
};

enum runner_end {
	RUNNER_EXITED,
	RUNNER_SIGNALED,
	RUNNER_TIMED_OUT, /* by the clock, or by processor time */
	RUNNER_OUT_OF_MEMORY
};

struct runner_outcome {
	enum runner_end end;
	int exit_code;  /* of RUNNER_EXITED */
	int signal;     /* of RUNNER_SIGNALED */
	bool as_caller; /* it had the caller's uid; started by root it has another one wherever that can be */
	char told[320]; /* how it ended, for people: "ended by SIGSEGV" */
	char said[480]; /* the beginning of what it wrote to stderr, printable, or "" */
};

struct runner {
	/* Runs to the end. -1: the boundary could not be made (whatever the code), ERROR_CANCELLED, or what output
	 * said. However the program itself ended is an outcome. Nothing of it lives on when this returns. */
	int (*run)(void *context, const struct runner_request *request, struct runner_outcome *ret_outcome,
		struct error *err);
	/* Opens a program that comes with pinfold ("pinfold-archive"), to be shown inside by a bind; the caller closes it. */
	int (*open_program)(void *context, const char *name, struct error *err);
	void *context;
};

#endif
