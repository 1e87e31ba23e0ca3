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

struct watch_memfile {
	uint64_t device, inode, bytes;
};

struct watch_shared {
	int tmpfs_fds[WATCH_TMPFS_MAX]; /* borrowed, one for each file system */
	uint64_t tmpfs_devices[WATCH_TMPFS_MAX];
	size_t n_tmpfs;
	int sysvipc_fd;                 /* borrowed, -1: none */
	struct watch_memfile *memfiles; /* of the last scan, by inode */
	size_t n_memfiles, allocated;
	uint64_t memfile_bytes;
	bool scanned;
	uint64_t scanned_ns;
	uint64_t system_bytes; /* shared memory of the whole machine at the last scan */
};

must_check int watch_shared_init(
	struct watch_shared *shared, const int *tmpfs_fds, size_t n_tmpfs_fds, int sysvipc_fd, struct error *err);
void watch_shared_done(struct watch_shared *shared);
/* tmpfs, SysV and the memory files of the last scan. */
uint64_t watch_shared_bytes(const struct watch_shared *shared);
/* By how much shared memory on this machine has grown since the last scan: no memory file hides more. */
uint64_t watch_shared_growth(const struct watch_shared *shared);
/* Looks for memory files among the descriptors of the tree. */
must_check int watch_shared_scan(struct watch_shared *shared, const struct watch_tree *tree, struct error *err);
bool watch_shared_scan_is_due(const struct watch_shared *shared);
/* Whether watch_shared_bytes counts the object that is mapped: device, inode and path as in smaps. */
bool watch_shared_counts(
	const struct watch_shared *shared, unsigned major, unsigned minor, uint64_t inode, const char *path);
/* True where the machine has swapped something out. */
bool watch_shared_swap_is_used(void);

#endif
