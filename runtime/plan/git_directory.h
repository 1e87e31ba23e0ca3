/* Where the data of a git checkout is when it is not in it. Internal to runtime/plan. */
#ifndef PLAN_GIT_DIRECTORY_H
#define PLAN_GIT_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"

#define GIT_SUBMODULES_MAX 256
#define GIT_WORKTREES_MAX  1024

enum git_kind {
	GIT_NONE, /* no `.git`, or one that is no file: what git needs is in the checkout, or nowhere */
	GIT_LINKED_WORKTREE,
	GIT_SUBMODULE,
	GIT_INSIDE,    /* the `.git` file names a place in the checkout itself */
	GIT_UNVERIFIED /* it names a place that does not name the checkout in return */
};

/* All paths are canonical. */
struct git_directory {
	enum git_kind kind;
	const char *named;  /* what the `.git` file says, resolved; NULL where it says nothing */
	const char *common; /* the git directory with objects, refs, hooks and configuration; not of GIT_UNVERIFIED */
	const char *own;    /* LINKED_WORKTREE: the checkout's own directory in it; else NULL */
	const char *reason; /* UNVERIFIED: why, for people */
};

struct git_submodule {
	const char *checkout;  /* its working tree */
	const char *directory; /* its git directory */
};

/* What makes host-side git run code, or leads it elsewhere, in a git directory; ends with NULL. */
extern const char *const git_directory_runs_code[];

/* checkout is canonical. The strings are of the arena; where memory is out, the arena remembers. */
struct git_directory git_directory_find(struct arena *arena, const char *checkout);
/* The submodules of `checkout`, whose own git directory is `own`, that are checked out in it and whose directories are
 * in own/modules and name them in return; at most GIT_SUBMODULES_MAX. */
void git_directory_submodules(
	struct arena *arena, const char *checkout, const char *own, struct git_submodule **ret_list, size_t *ret_n);

/* The checkouts of the repository `common` that its worktrees/NAME/gitdir name, in no order. False where there are more
 * than GIT_WORKTREES_MAX. */
bool git_directory_worktrees(struct arena *arena, const char *common, const char ***ret_list, size_t *ret_n);

#endif
