/*
 * Limits -> knobs. Each is a decimal number in a file of the group, cpu.max two: microseconds of CPU time in a period.
 *
 * Not set: memory.high. It throttles a tree before its limit is met, and a hog ends no sooner by it (tried at 15/16 of
 * memory.max); what can be reclaimed is, before memory.max kills. memory.oom.group makes the kernel kill the whole
 * tree, the init included: without it one process dies and the rest goes on with half its work.
 *
 * Order: all of it is written before anything is in the group, so no moment without a limit exists.
 */
#include "cgroup/group_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cgroup/group.h"

#define PERIOD_US      100000u /* the kernel's own */
#define MILLI          1000u
#define QUOTA_US_LEAST 1000u /* the kernel takes no less (cpu.max) */

static int write_knob(const struct group *group, const char *name, const char *value, struct error *err)
{
	cleanup_close int fd = openat(group_limits_fd(group), name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fd_write_all(fd, value, strlen(value)) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, name, "%s of the cgroup %s cannot be set to %s",
			name, group_name(group), value);
	return 0;
}

static int write_number(const struct group *group, const char *name, uint64_t value, struct error *err)
{
	char text[32];

	if (value == GROUP_NO_LIMIT)
		return 0;
	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	return write_knob(group, name, text, err);
}

static int limit_memory(const struct group *group, const struct group_limits *limits, struct error *err)
{
	if (limits->memory_bytes == GROUP_NO_LIMIT)
		return 0;
	if (write_number(group, "memory.max", limits->memory_bytes, err) < 0)
		return -1;
	return write_knob(group, "memory.oom.group", "1", err);
}

static int limit_cpus(const struct group *group, const struct group_limits *limits, struct error *err)
{
	uint64_t quota_us = limits->cpus_milli * (PERIOD_US / MILLI);
	char text[64];

	if (limits->cpus_milli == GROUP_NO_LIMIT)
		return 0;
	if (quota_us < QUOTA_US_LEAST)
		quota_us = QUOTA_US_LEAST;
	(void)snprintf(text, sizeof text, "%" PRIu64 " %u", quota_us, PERIOD_US);
	return write_knob(group, "cpu.max", text, err);
}

int group_limit(struct group *group, const struct group_limits *limits, struct error *err)
{
	if (limit_memory(group, limits, err) < 0)
		return -1;
	if (write_number(group, "memory.swap.max", limits->swap_bytes, err) < 0)
		return -1;
	if (write_number(group, "pids.max", limits->processes, err) < 0)
		return -1;
	return limit_cpus(group, limits, err);
}
