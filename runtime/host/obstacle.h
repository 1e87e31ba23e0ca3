/* What on this machine stands behind a refusal: a sysctl, an outer filter, a security module. */
#ifndef HOST_OBSTACLE_H
#define HOST_OBSTACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/host/host.h"

enum obstacle {
	OBSTACLE_NONE,
	OBSTACLE_MAX_USER_NAMESPACES,
	OBSTACLE_MAX_MNT_NAMESPACES,
	OBSTACLE_MAX_PID_NAMESPACES,
	OBSTACLE_MAX_IPC_NAMESPACES,
	OBSTACLE_MAX_UTS_NAMESPACES,
	OBSTACLE_MAX_CGROUP_NAMESPACES,
	OBSTACLE_MAX_NET_NAMESPACES,
	OBSTACLE_NAMESPACES_SPENT,
	OBSTACLE_USERNS_CLONE,
	OBSTACLE_APPARMOR_USERNS,
	OBSTACLE_OUTER_FILTER,
	OBSTACLE_APPARMOR_PROFILE,
	OBSTACLE_SELINUX,
	OBSTACLE_PROC_COVERED,
	_OBSTACLE_COUNT
};

/* Looks for what may have caused the lack of `which` and writes it as a detail, "" where nothing is found. */
void obstacle_find(enum host_fact which, int sys_errno, char *ret_detail, size_t size);
/* Which one a detail tells of; details of fake hosts are written the same way. */
enum obstacle obstacle_of(const char *detail);
/* Pure: whether something is mounted below /proc that hides a part of it, from the text of a mountinfo. */
bool obstacle_covers_proc(const char *mountinfo);

#endif
