/* The end of a tree that has lost its init, and with it the one place where all of it could be found. */
#ifndef CGROUP_WATCH_ORPHANS_H
#define CGROUP_WATCH_ORPHANS_H

#include "cgroup/watch_tree.h"

/* SIGKILL to the processes that were seen last and to whoever is in their sessions. */
void watch_orphans_kill(const struct watch_tree *tree);

#endif
