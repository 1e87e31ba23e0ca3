/* The child's side of a launch. */
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include "runtime/plan/plan.h"

struct launch_child {
	const struct plan *plan;
	int control_fd; /* its end of the socket */
	int supervisor_pidfd;
	int block_fd;
	int image_fd;
	int ruleset_fd;      /* -1 until it is made, and where the plan has no fence */
	int group_fd;        /* the cgroup into which init is to put the command; -1 */
	int stdio_fds[3];    /* -1: the terminal's, or /dev/null */
	bool take_sources;   /* the parent is not privileged: the child opens the sources itself */
	size_t marks_before; /* of the parent, when it forked */
	int *trees;          /* plan->mounts.n_ops, to be filled */
};

/* Builds the boundary from within and executes init. Never returns. */
_Noreturn void launch_child(struct launch_child *child);

#endif
