/* Who descends from a process, by a proc of the same pid namespace. */
#ifndef CGROUP_WATCH_DESCENT_H
#define CGROUP_WATCH_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct watch_descent {
	int proc_fd;
	pid_t root; /* is not listed itself */
	bool scan;  /* do not use the kernel's lists of children */
	/* out, to be freed by the caller, also after a failure: in no order, and some perhaps twice */
	pid_t *pids;
	size_t n, allocated;
};

/* Processes that vanish meanwhile are no error; some that lose their parent meanwhile may be missing. */
must_check int watch_descent_list(struct watch_descent *descent, struct error *err);

#endif
