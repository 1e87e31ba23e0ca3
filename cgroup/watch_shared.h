/* Memory that belongs to no process: tmpfs mounts, memory files, SysV shared memory. */
#ifndef CGROUP_WATCH_SHARED_H
#define CGROUP_WATCH_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cgroup/watch_tree.h"

#define WATCH_TMPFS_MAX 16

/* The files of the sandbox's /proc/sysvipc, opened inside; -1 where there is none. Borrowed. */
struct watch_sysv {
	int shm_fd, sem_fd, msg_fd;
};

/* What keeps a search from being complete. */
enum watch_hidden {
	WATCH_HIDDEN_NOTHING,
	WATCH_HIDDEN_ENDING, /* those of a process that is about to give them back */
	WATCH_HIDDEN_MANY,   /* more descriptors than can be looked at */
	WATCH_HIDDEN_CLOSED, /* the descriptors of a process must not be looked at */
	WATCH_HIDDEN_SYSV    /* what there is of SysV IPC cannot be read, or is too long */
};

struct watch_memfile {
	uint64_t device, inode, bytes;
};

struct watch_shared {
	int tmpfs_fds[WATCH_TMPFS_MAX]; /* borrowed, one for each file system */
	uint64_t tmpfs_devices[WATCH_TMPFS_MAX];
	size_t n_tmpfs;
	struct watch_sysv sysv;
	struct watch_memfile *memfiles; /* of the last scan, by inode */
	size_t n_memfiles, allocated;
	uint64_t memfile_bytes;
	bool scanned;
	uint64_t scanned_ns;
	uint64_t system_bytes;    /* shared memory of the whole machine at the last scan */
	uint64_t others_bytes;    /* of it what was not the tree's, at the last scan that saw all */
	enum watch_hidden hidden; /* from the last scan */
	pid_t hidden_pid;         /* of WATCH_HIDDEN_CLOSED and ENDING, in the sandbox's numbers */
};

must_check int watch_shared_init(struct watch_shared *shared, const int *tmpfs_fds, size_t n_tmpfs_fds,
	const struct watch_sysv *sysv, struct error *err);
void watch_shared_done(struct watch_shared *shared);
/* tmpfs, SysV and the memory files of the last scan. tasks: by how many the tree's SysV semaphores may be held. */
uint64_t watch_shared_bytes(struct watch_shared *shared, uint64_t tasks);
/* How much more there may be where something is hidden; UINT64_MAX where nobody knows. */
uint64_t watch_shared_hidden_bytes(const struct watch_shared *shared);
/* Says why a limit of memory cannot be held. Returns -1. */
int watch_shared_set_error(const struct watch_shared *shared, struct error *err);
/* By how much shared memory on this machine has grown since the last scan: no memory file hides more. */
uint64_t watch_shared_growth(const struct watch_shared *shared);
/* Looks for memory files among the descriptors of the tree, until the deadline. */
must_check int watch_shared_scan(
	struct watch_shared *shared, struct watch_tree *tree, uint64_t deadline_ns, struct error *err);
bool watch_shared_scan_is_due(const struct watch_shared *shared);
/* Whether watch_shared_bytes counts the object that is mapped: device, inode and path as in smaps. */
bool watch_shared_counts(
	const struct watch_shared *shared, unsigned major, unsigned minor, uint64_t inode, const char *path);
/* True where the machine has swapped something out. */
bool watch_shared_swap_is_used(void);

#endif
