/* What the kernel holds a group to, by the files of its controllers (cgroup-v2.rst of the kernel's documentation). */
#ifndef CGROUP_GROUP_LIMITS_H
#define CGROUP_GROUP_LIMITS_H

#include <stdint.h>

#define GROUP_NO_LIMIT UINT64_MAX

struct group_limits {
	uint64_t memory_bytes; /* memory.max, with memory.oom.group: all or nobody is killed */
	uint64_t swap_bytes;   /* memory.swap.max */
	uint64_t processes;    /* pids.max: tasks, the init among them */
	uint64_t cpus_milli;   /* cpu.max: thousandths of a CPU */
};

#endif
