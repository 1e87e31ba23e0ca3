/*
 * An errno says that something was refused, seldom by whom: EPERM of clone3 may come from a sysctl, from AppArmor, from
 * SELinux or from the seccomp filter of the container around us. What is in force can be read, so it is, once something
 * has been refused; a version number is never a reason.
 *
 * Order: for each errno the likeliest cause comes first. A container usually has both a filter, which says EPERM or
 * ENOSYS, and an AppArmor profile, which says EACCES.
 *
 * What is found is kept as the detail of the fact, in fixed words, so that a fake host can have an obstacle too and the
 * remedy (remedy.c) needs nothing but the host it is asked about.
 */
#include "runtime/host/obstacle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

#define PROC_TEXT_MAX (16u << 20)
#define SMALL_MAX     4096

/* A detail is the phrase, and what was read where that is worth telling. */
static const char *const phrases[_OBSTACLE_COUNT] = {
	[OBSTACLE_NONE] = "",
	[OBSTACLE_MAX_USER_NAMESPACES] = "sysctl user.max_user_namespaces is 0",
	[OBSTACLE_MAX_MNT_NAMESPACES] = "sysctl user.max_mnt_namespaces is 0",
	[OBSTACLE_MAX_PID_NAMESPACES] = "sysctl user.max_pid_namespaces is 0",
	[OBSTACLE_MAX_IPC_NAMESPACES] = "sysctl user.max_ipc_namespaces is 0",
	[OBSTACLE_MAX_UTS_NAMESPACES] = "sysctl user.max_uts_namespaces is 0",
	[OBSTACLE_MAX_CGROUP_NAMESPACES] = "sysctl user.max_cgroup_namespaces is 0",
	[OBSTACLE_MAX_NET_NAMESPACES] = "sysctl user.max_net_namespaces is 0",
	[OBSTACLE_NAMESPACES_SPENT] = "no more namespaces are allowed, here or in a user namespace around",
	[OBSTACLE_USERNS_CLONE] = "sysctl kernel.unprivileged_userns_clone is 0",
	[OBSTACLE_APPARMOR_USERNS] = "sysctl kernel.apparmor_restrict_unprivileged_userns is 1",
	[OBSTACLE_OUTER_FILTER] = "an outer seccomp filter is in force",
	[OBSTACLE_APPARMOR_PROFILE] = "an AppArmor profile is in force: ",
	[OBSTACLE_SELINUX] = "a SELinux domain is in force: ",
	[OBSTACLE_PROC_COVERED] = "parts of /proc are covered by other mounts",
};

/* The first line of a small file, "" where it cannot be read: then there is no such obstacle. */
static void read_line(const char *path, char *ret_line, size_t size)
{
	cleanup_buf struct buf text = {0};

	ret_line[0] = '\0';
	if (fd_read_file(AT_FDCWD, path, SMALL_MAX, &text, NULL) < 0)
		return;
	(void)snprintf(ret_line, size, "%.*s", (int)strcspn(buf_str(&text), "\n"), buf_str(&text));
}

static bool reads(const char *path, const char *value)
{
	char line[SMALL_MAX];

	read_line(path, line, sizeof line);
	return strcmp(line, value) == 0;
}

/* Where a limit of a user namespace around is met, the own one tells nothing. */
static bool holds_always(char *ret_name, size_t size)
{
	(void)ret_name;
	(void)size;
	return true;
}

static bool holds_userns_clone(char *ret_name, size_t size)
{
	(void)ret_name;
	(void)size;
	return geteuid() != 0 && reads("/proc/sys/kernel/unprivileged_userns_clone", "0");
}

static bool holds_apparmor_userns(char *ret_name, size_t size)
{
	(void)ret_name;
	(void)size;
	return geteuid() != 0 && reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
}

static bool holds_outer_filter(char *ret_name, size_t size)
{
	cleanup_buf struct buf status = {0};

	(void)ret_name;
	(void)size;
	return fd_read_file(AT_FDCWD, "/proc/thread-self/status", SMALL_MAX, &status, NULL) == 0 &&
		strstr(buf_str(&status), "\nSeccomp:\t2\n") != NULL;
}

/* No errno is the word of who died of the asking. */
static bool holds_killing_filter(char *ret_name, size_t size)
{
	if (!holds_outer_filter(NULL, 0))
		return false;
	(void)snprintf(ret_name, size, " and kills who asks");
	return true;
}

/* AppArmor: "docker-default (enforce)". */
static bool holds_apparmor_profile(char *ret_name, size_t size)
{
	read_line("/proc/thread-self/attr/current", ret_name, size);
	return strstr(ret_name, " (enforce)") != NULL;
}

/* SELinux: "system_u:system_r:container_t:s0:c1,c2". */
static bool holds_selinux(char *ret_name, size_t size)
{
	if (!reads("/sys/fs/selinux/enforce", "1"))
		return false;
	read_line("/proc/thread-self/attr/current", ret_name, size);
	return strchr(ret_name, ':') != NULL && strstr(ret_name, ":unconfined_t:") == NULL;
}

/* binfmt_misc lies on a directory that is empty for good: the kernel does not mind it (mount_too_revealing). */
bool obstacle_covers_proc(const char *mountinfo)
{
	for (const char *line = mountinfo; line != NULL; line = strchr(line, '\n')) {
		char where[SMALL_MAX];

		if (*line == '\n')
			line++;
		if (sscanf(line, "%*s %*s %*s %*s %4095s", where) == 1 && str_starts_with(where, "/proc/") &&
			strcmp(where, "/proc/sys/fs/binfmt_misc") != 0)
			return true;
	}
	return false;
}

static bool holds_proc_covered(char *ret_name, size_t size)
{
	cleanup_buf struct buf mountinfo = {0};

	(void)ret_name;
	(void)size;
	return fd_read_file(AT_FDCWD, "/proc/thread-self/mountinfo", PROC_TEXT_MAX, &mountinfo, NULL) == 0 &&
		obstacle_covers_proc(buf_str(&mountinfo));
}

struct suspicion {
	int sys_errno;
	enum obstacle obstacle;
	const char *zero;                           /* the sysctl that is 0 then, or NULL: */
	bool (*holds)(char *ret_name, size_t size); /* how it is found */
	enum host_fact first, last;                 /* the facts that it can be behind */
};

static const struct suspicion suspicions[] = {
	{ENOSPC, OBSTACLE_MAX_USER_NAMESPACES, "/proc/sys/user/max_user_namespaces", NULL, FACT_USER_NAMESPACE,
		FACT_NPROC_PER_NAMESPACE},
	{ENOSPC, OBSTACLE_MAX_MNT_NAMESPACES, "/proc/sys/user/max_mnt_namespaces", NULL, FACT_MOUNT_NAMESPACE,
		FACT_DEVPTS_MOUNT},
	{ENOSPC, OBSTACLE_MAX_PID_NAMESPACES, "/proc/sys/user/max_pid_namespaces", NULL, FACT_PID_NAMESPACE,
		FACT_PROC_MOUNT},
	{ENOSPC, OBSTACLE_MAX_IPC_NAMESPACES, "/proc/sys/user/max_ipc_namespaces", NULL, FACT_IPC_NAMESPACE,
		FACT_IPC_NAMESPACE},
	{ENOSPC, OBSTACLE_MAX_UTS_NAMESPACES, "/proc/sys/user/max_uts_namespaces", NULL, FACT_UTS_NAMESPACE,
		FACT_UTS_NAMESPACE},
	{ENOSPC, OBSTACLE_MAX_CGROUP_NAMESPACES, "/proc/sys/user/max_cgroup_namespaces", NULL, FACT_CGROUP_NAMESPACE,
		FACT_CGROUP_NAMESPACE},
	{ENOSPC, OBSTACLE_MAX_NET_NAMESPACES, "/proc/sys/user/max_net_namespaces", NULL, FACT_NET_NAMESPACE,
		FACT_LOOPBACK},
	{ENOSPC, OBSTACLE_NAMESPACES_SPENT, NULL, holds_always, FACT_USER_NAMESPACE, FACT_NPROC_PER_NAMESPACE},
	{EPERM, OBSTACLE_PROC_COVERED, NULL, holds_proc_covered, FACT_PROC_MOUNT, FACT_PROC_MOUNT},
	{EPERM, OBSTACLE_USERNS_CLONE, NULL, holds_userns_clone, FACT_USER_NAMESPACE, FACT_LOOPBACK},
	{EPERM, OBSTACLE_APPARMOR_USERNS, NULL, holds_apparmor_userns, FACT_USER_NAMESPACE, FACT_LOOPBACK},
	{EACCES, OBSTACLE_APPARMOR_USERNS, NULL, holds_apparmor_userns, FACT_USER_NAMESPACE, FACT_LOOPBACK},
	{ENOSYS, OBSTACLE_OUTER_FILTER, NULL, holds_outer_filter, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EPERM, OBSTACLE_OUTER_FILTER, NULL, holds_outer_filter, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EPERM, OBSTACLE_APPARMOR_PROFILE, NULL, holds_apparmor_profile, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EPERM, OBSTACLE_SELINUX, NULL, holds_selinux, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EACCES, OBSTACLE_APPARMOR_PROFILE, NULL, holds_apparmor_profile, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EACCES, OBSTACLE_SELINUX, NULL, holds_selinux, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{0, OBSTACLE_OUTER_FILTER, NULL, holds_killing_filter, FACT_USER_NAMESPACE, FACT_LANDLOCK},
	{EACCES, OBSTACLE_OUTER_FILTER, NULL, holds_outer_filter, FACT_USER_NAMESPACE, FACT_LANDLOCK},
};

static bool holds(const struct suspicion *suspicion, char *ret_name, size_t size)
{
	return suspicion->zero != NULL ? reads(suspicion->zero, "0") : suspicion->holds(ret_name, size);
}

void obstacle_find(enum host_fact which, int sys_errno, char *ret_detail, size_t size)
{
	ret_detail[0] = '\0';
	for (size_t i = 0; i < sizeof suspicions / sizeof *suspicions; i++) {
		const struct suspicion *suspicion = &suspicions[i];
		char name[SMALL_MAX] = "";
		char shown[128];

		if (suspicion->sys_errno != sys_errno || which < suspicion->first || which > suspicion->last ||
			!holds(suspicion, name, sizeof name))
			continue;
		(void)snprintf(ret_detail, size, "%s%s", phrases[suspicion->obstacle],
			str_printable(name, shown, sizeof shown));
		return;
	}
}

enum obstacle obstacle_of(const char *detail)
{
	for (int i = OBSTACLE_NONE + 1; i < _OBSTACLE_COUNT; i++)
		if (str_starts_with(detail, phrases[i]))
			return (enum obstacle)i;
	return OBSTACLE_NONE;
}
