/*
 * Mounts file systems that show what is the host's, in namespaces of its own, and opens files in them for writing that
 * would let it move, stop, starve or end others. They are opened and not written to.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "hostile.h"

static const char place[] = "/tmp/group_mounts";

static void try_open(const char *type, const char *file)
{
	char path[128], what[160];
	int fd;

	snprintf(path, sizeof path, "%s/%s", place, file);
	snprintf(what, sizeof what, "%s: %s for writing", type, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	tried(what, fd >= 0);
	if (fd >= 0)
		close(fd);
}

static void try_mount(const char *type, const char *options, const char *const *files)
{
	need(mkdir(place, 0755) == 0 || errno == EEXIST, place);
	if (mount("none", place, type, MS_NOSUID | MS_NODEV, options) < 0) {
		tried(options != NULL ? options : type, false);
		return;
	}
	for (; *files != NULL; files++)
		try_open(type, *files);
	need(umount2(place, MNT_DETACH) == 0, "umount");
}

int main(void)
{
	static const char *const second[] = {
		"cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "cgroup.kill", "cgroup.freeze", NULL};
	static const char *const memory[] = {"cgroup.procs", "tasks", "memory.limit_in_bytes", "notify_on_release", NULL};
	static const char *const pids[] = {"cgroup.procs", "tasks", "pids.max", NULL};
	static const char *const sysfs[] = {"kernel/uevent_helper", "power/state", NULL};
	static const char *const proc[] = {"sys/kernel/core_pattern", "sysrq-trigger", NULL};

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) < 0) {
		tried("namespaces", false);
		return verdict();
	}
	try_mount("cgroup2", NULL, second);
	try_mount("cgroup", "memory", memory);
	try_mount("cgroup", "pids", pids);
	try_mount("sysfs", NULL, sysfs);
	try_mount("proc", NULL, proc);
	return verdict();
}
