/*
 * The entry git_repo: the content of a commit, by the real git, inside a boundary of its own.
 *
 * What comes out is the files of the commit, without a .git directory: regular files (0644, or 0755), directories, and
 * symlinks whose target stays inside the entry; a submodule is an empty directory. A symlink that leads out is an error.
 */
#ifndef WORKSPACE_GIT_H
#define WORKSPACE_GIT_H

#include <stdbool.h>

#include "base/error.h"
#include "runtime/workspace/local.h"
#include "runtime/workspace/runner.h"
#include "runtime/workspace/work.h"

struct git_source {
	const char *repo; /* as written; the URL where repo_fd is -1 */
	int repo_fd;      /* the directory of a repository of this machine, opened by the rules of sources; borrowed */
	const char *ref; /* branch, tag, full name, or 7 to 64 hexadecimal digits of a commit; NULL: the repository's HEAD */
	const char *subpath; /* the directory in it that is taken; NULL, "" or ".": all of it */
};

/* Whether `repo` names something by a URL or another way of git's own ("host:path", "ext::..."), no path. */
bool git_is_address(const char *repo);
/* What can be refused without running anything: addresses other than https:// and http://, or with a password in them;
 * refs and subpaths. ERROR_GIT_CLONE, not retryable, with context.reason. */
must_check int git_check_source(const struct git_source *source, struct error *err);
/* Makes the directory `name` (0755) in staging_dirfd, which nobody else may change meanwhile. On failure neither it nor
 * a temporary is left. ERROR_GIT_CLONE with git's own words; reason "git_missing" (not retryable) where there is no
 * git; ERROR_LIMIT for what is more than the work may have. *ret_as_caller: git had the caller's uid (runner.h). */
must_check int git_fetch_entry(const struct runner *runner, const struct git_source *source, int staging_dirfd,
	const char *name, struct work *work, struct local_totals *totals, bool *ret_as_caller, struct error *err);

#endif
