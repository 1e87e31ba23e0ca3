/* The end of a group: killing all in it, removing it and what was made below it while the last tasks are still dying. */
#ifndef CGROUP_GROUP_TREE_H
#define CGROUP_GROUP_TREE_H

#include <stdint.h>

/* Removes `name` below base_fd with all directories in it, trying until the monotime deadline_ns. Gone already is fine.
 * 0, or -1 with errno: EBUSY where tasks are left. */
int group_tree_remove(int base_fd, const char *name, uint64_t deadline_ns);

/* SIGKILL to all that is in or below the group held by `fd`; see group_kill. 0, or -1 with errno. */
int group_tree_kill(int fd);

#endif
