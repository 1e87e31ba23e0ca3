/* The memory of one process by the kernel's finer and dearer files. */
#ifndef CGROUP_WATCH_MEMORY_H
#define CGROUP_WATCH_MEMORY_H

#include <stdint.h>

#include "cgroup/watch_shared.h"
#include "cgroup/watch_tree.h"

/* Anonymous, shared and swapped memory, each page counted for every process that has it: an upper bound. */
uint64_t watch_memory_upper(const struct watch_tree *tree, const struct watch_process *process);
/* The same by proportional shares: summed over the tree, each page counts once. */
uint64_t watch_memory_share(const struct watch_tree *tree, const struct watch_process *process);
/* What of that share belongs to objects that are counted by themselves (a tmpfs, a memory file, SysV shared memory). */
uint64_t watch_memory_counted_twice(
	const struct watch_tree *tree, const struct watch_process *process, const struct watch_shared *shared);
/* The sum over the tree of watch_memory_share, each address space once. */
uint64_t watch_memory_shares(struct watch_tree *tree);
/* The value in kB of a line "KEY:   123 kB" of a text, in bytes; 0 where there is none. Pure. */
uint64_t watch_memory_parse_kb(const char *text, const char *key);

#endif
