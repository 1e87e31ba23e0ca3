/* One run of git inside its boundary. */
#ifndef WORKSPACE_GIT_RUN_H
#define WORKSPACE_GIT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/workspace/runner.h"
#include "runtime/workspace/work.h"

#define GIT_SOURCE_INSIDE "/git/source" /* where a repository of this machine is shown */

struct git_run {
	const struct runner *runner;
	const char *program; /* absolute */
	int place_fd;        /* the temporary directory: all that git may write, and where it is run */
	int config_fd;       /* of the configuration that is the only one */
	int repo_fd;         /* -1: by the network */
	uint64_t bytes_max;  /* of one file that it makes */
	struct work *work;
	bool as_caller; /* set: some git had the caller's uid (runner_outcome) */
};

/* Takes what git prints, as it comes. -1 with err set ends the run. */
struct git_hearer {
	int (*hear)(void *context, const void *data, size_t size, struct error *err);
	void *context;
};

enum git_answer {
	GIT_DONE,   /* exit status 0 */
	GIT_REFUSED /* any other end of git itself: err is set to ERROR_GIT_CLONE, with its own words */
};

/* The git of this machine, by absolute path; ERROR_GIT_CLONE with reason "git_missing" where there is none. */
must_check int git_find_program(const char **ret_program, struct error *err);
/* Writes the configuration to the new file `name` in dirfd and returns it, open for reading. */
must_check int git_write_config(int dirfd, const char *name, struct error *err);
/* arguments: NULL-terminated, without "git"; hearer may be NULL. A git_answer, or -1 with err set. */
must_check int git_run(
	struct git_run *run, const char *const *arguments, const struct git_hearer *hearer, struct error *err);

#endif
