/*
 * Measures a process tree through its own proc mount where no cgroup counts it: memory (anonymous, shared, tmpfs, memfd,
 * SysV), processes, CPU time. Samples, so it can be outrun: how long and how far is said in docs/threat-model.md.
 */
#ifndef CGROUP_WATCHDOG_H
#define CGROUP_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cgroup/watch_shared.h"

struct watchdog;

struct watchdog_sample {
	uint64_t memory_bytes;               /* of the whole tree */
	uint64_t processes;                  /* tasks, without the init */
	uint64_t cpu_user_ns, cpu_system_ns; /* never decreases */
};

/* proc_fd: the root of the sandbox's proc mount; root: 0, or, where that proc is the host's, the process from which the
 * tree descends; tmpfs_fds: directories of its tmpfs mounts; sysv: what
 * there is of its SysV IPC. All descriptors are borrowed. memory_limit: above which the exact, slower count is made
 * (UINT64_MAX: never). */
must_check int watchdog_new(int proc_fd, pid_t root, const int *tmpfs_fds, size_t n_tmpfs_fds,
	const struct watch_sysv *sysv, uint64_t memory_limit, struct watchdog **ret_watchdog, struct error *err);
/* Processes that vanish meanwhile are no error; that a limit of memory cannot be held is one, where that was seen in
 * two looks. */
must_check int watchdog_sample(struct watchdog *watchdog, struct watchdog_sample *ret_sample, struct error *err);
/* When to look again, from how near the limits are: 2 to 50 ms in ns. */
uint64_t watchdog_interval_ns(const struct watchdog *watchdog);
/* Whether the last look saw what one look alone does not prove: the next one is then due at once, whatever it costs. */
bool watchdog_is_suspicious(const struct watchdog *watchdog);
/* SIGKILL to a tree that has lost its init, as far as it is known. */
void watchdog_kill(const struct watchdog *watchdog);
struct watchdog *watchdog_free(struct watchdog *watchdog);
CLEANUP_DEFINE(struct watchdog, watchdog_free)

#endif
