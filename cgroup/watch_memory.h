/* The memory of processes by the kernel's finer and dearer files. Where a function takes a deadline it returns false
 * when that has passed before it was done: how long the files take is for the tree to say. */
#ifndef CGROUP_WATCH_MEMORY_H
#define CGROUP_WATCH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/watch_shared.h"
#include "cgroup/watch_tree.h"

/* Anonymous, shared and swapped memory and page tables, each page counted for every process that has it: an upper
 * bound. */
uint64_t watch_memory_upper(const struct watch_tree *tree, struct watch_process *process);
/* Learns of each process how much its page tables take. */
void watch_memory_read_tables(struct watch_tree *tree);
/* The same by proportional shares: summed over the tree, each page counts once. */
uint64_t watch_memory_share(const struct watch_tree *tree, struct watch_process *process);
/* What of the shares belongs to objects that are counted by themselves (a tmpfs, a memory file, SysV shared memory). */
must_check bool watch_memory_counted_twice(
	const struct watch_tree *tree, const struct watch_shared *shared, uint64_t deadline_ns, uint64_t *ret_bytes);
/* The sum over the tree of watch_memory_share and page tables, each address space once. */
must_check bool watch_memory_shares(struct watch_tree *tree, uint64_t deadline_ns, uint64_t *ret_bytes);
/* The value in kB of a line "KEY:   123 kB" of a text, in bytes; 0 where there is none. Pure. */
uint64_t watch_memory_parse_kb(const char *text, const char *key);

#endif
