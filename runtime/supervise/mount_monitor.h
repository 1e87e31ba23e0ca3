/* Whether the mounts that mask and protect are still there, and the repair where the host made one vanish. */
#ifndef SUPERVISE_MOUNT_MONITOR_H
#define SUPERVISE_MOUNT_MONITOR_H

#include "base/cleanup.h"
#include "base/error.h"
#include "base/loop.h"
#include "runtime/launch/launched.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/violations.h"

struct mount_monitor;

struct mount_monitor_hooks {
	/* Puts the mount back; the tree is killed where that fails. */
	int (*repair)(void *userdata, const struct mount_op *op, struct error *err);
	/* A boundary that cannot be restored: why, as a whole error record. Must end the run. */
	int (*lost)(void *userdata, const struct error *why, struct error *err);
	void *userdata;
};

/* All pointers and descriptors are borrowed. wake_fd and check_fd are two open descriptions of the sandbox's mountinfo:
 * the first wakes the loop, the second must never be polled by anybody else, by way of an epoll set neither.
 * *ret_monitor is NULL where nothing is to be monitored. */
must_check int mount_monitor_new(const struct mount_plan *mounts, int wake_fd, int check_fd, struct loop *loop,
	struct violations *violations, const struct mount_monitor_hooks *hooks, struct mount_monitor **ret_monitor,
	struct error *err);
/* To be called around every wait of the loop, whatever it reported: 1 where the mounts were looked at, 0 where none
 * changed. NULL: 0. */
must_check int mount_monitor_check(struct mount_monitor *monitor, struct error *err);
/* Makes the next check look, whatever the kernel says of changes. NULL: nothing. */
void mount_monitor_suspect(struct mount_monitor *monitor);
struct mount_monitor *mount_monitor_free(struct mount_monitor *monitor);
CLEANUP_DEFINE(struct mount_monitor, mount_monitor_free)

#endif
