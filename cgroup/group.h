/* One cgroup v2 directory, held by descriptor. Knows nothing of policies. */
#ifndef CGROUP_GROUP_H
#define CGROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cgroup/group_limits.h"

struct group;

/* What the kernel counted of a group, whole and exact; GROUP_UNKNOWN where it has no such file. */
#define GROUP_UNKNOWN UINT64_MAX

struct group_figures {
	uint64_t memory_peak_bytes;
	uint64_t processes_peak;   /* tasks */
	uint64_t memory_oom;       /* how often its own limit was met and nothing could be reclaimed */
	uint64_t memory_oom_kills; /* tasks in it that the kernel killed for lack of memory, here or further up */
	uint64_t forks_refused;    /* by its own limit */
};

/* Makes BASE/pinfold-PID-STARTTIME-N, a name by which gc tells live from dead. `inner`: what is started in it lives in a
 * group below, where the limits cannot be reached by whoever mounts a cgroup file system in a namespace of its own. */
must_check int group_make(const char *base, bool inner, struct group **ret_group, struct error *err);
int group_fd(const struct group *group);        /* for CLONE_INTO_CGROUP */
int group_limits_fd(const struct group *group); /* where its limits and figures are */
const char *group_name(const struct group *group);
/* Writes those that are not GROUP_NO_LIMIT, before anything is in the group. A file that is not there is an error: who
 * asks for a limit has probed. */
must_check int group_limit(struct group *group, const struct group_limits *limits, struct error *err);
/* cgroup.kill; where the kernel lacks it, nothing (the pid namespace kills). Returns 0 or -1 with errno. */
int group_kill(struct group *group);
/* User and system CPU time of everything that ever ran in it. */
must_check int group_cpu_usage(struct group *group, uint64_t *ret_user_ns, uint64_t *ret_system_ns, struct error *err);
/* A file that cannot be read leaves its figures unknown. */
void group_read_figures(struct group *group, struct group_figures *ret_figures);
/* Removes it and sub-groups the tree made; retries a bounded time while dying tasks leave. */
must_check int group_remove(struct group *group, struct error *err);
/* Kills, removes, frees. */
struct group *group_free(struct group *group);
CLEANUP_DEFINE(struct group, group_free)
/* Removes groups below base whose maker is dead. */
must_check int group_sweep(const char *base, size_t *ret_removed, struct error *err);
/* The same in a base that is open; its path is for messages. */
must_check int group_sweep_at(int fd, const char *base, size_t *ret_removed, struct error *err);

#endif
