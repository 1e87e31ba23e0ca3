/* The service manager (systemd), which owns the cgroup tree of most machines, and of which a part of it can be asked. */
#ifndef CGROUP_MANAGER_H
#define CGROUP_MANAGER_H

#include <stdbool.h>

#include "base/error.h"

/* What kind of unit a cgroup's directory is, by its name. */
enum manager_unit {
	UNIT_NONE, /* no unit of its own: somebody made it */
	UNIT_SCOPE,
	UNIT_SERVICE,
	UNIT_SLICE
};

/* Whether systemd runs this machine (sd_booted(3)). */
bool manager_runs(void);
enum manager_unit manager_unit_of(const char *path);
/* Whether the manager has marked the directory as delegated, by the attribute that it gives such ones (user.delegate,
 * and trusted.delegate, which only root can read). */
bool manager_delegates(const char *path);
/* Has the manager (root: the system's; else the user's own) make a transient scope with Delegate=yes, and this process
 * moved into it with all its threads. Returns when it is there; the scope ends with the last process in it. Blocks for
 * some 10 ms, at most half a minute. ERROR_UNENFORCEABLE with the manager's word where it refuses or cannot be reached. */
must_check int manager_enter_scope(struct error *err);

#endif
