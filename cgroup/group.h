/* One cgroup v2 directory, held by descriptor. Knows nothing of policies. */
#ifndef CGROUP_GROUP_H
#define CGROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct group;

/* The directory below which this process may make groups: $PINFOLD_CGROUP where set (it must be in a cgroup v2 mount and
 * writable), else its own cgroup v2 directory. Writes "" where there is none. Reads /proc/self/mountinfo and cgroup. */
must_check int group_find_base(char *ret_path, size_t size, struct error *err);
/* Makes BASE/pinfold-PID-STARTTIME-N, a name by which gc tells live from dead. */
must_check int group_make(const char *base, struct group **ret_group, struct error *err);
int group_fd(const struct group *group); /* for CLONE_INTO_CGROUP */
const char *group_name(const struct group *group);
/* cgroup.kill; where the kernel lacks it, nothing (the pid namespace kills). Returns 0 or -1 with errno. */
int group_kill(struct group *group);
/* User and system CPU time of everything that ever ran in it. */
must_check int group_cpu_usage(struct group *group, uint64_t *ret_user_ns, uint64_t *ret_system_ns, struct error *err);
/* Removes it and sub-groups the tree made; retries a bounded time while dying tasks leave. */
must_check int group_remove(struct group *group, struct error *err);
/* Kills, removes, frees. */
struct group *group_free(struct group *group);
CLEANUP_DEFINE(struct group, group_free)
/* Removes groups below base whose maker is dead. */
must_check int group_sweep(const char *base, size_t *ret_removed, struct error *err);

#endif
