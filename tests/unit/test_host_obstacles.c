/*
 * The probe in children that were given an obstacle of their own: a sysctl, an outer filter, a covered proc, a
 * read-only cgroup mount, root without rights.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cgroup/group_base.h"
#include "runtime/host/host.h"
#include "tests/unit/harness.h"
#include "tests/unit/probed_host.h"

TestSuite(host_obstacles, .fini = harness_leak_check);

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));

	fd_close(fd);
	return r;
}

/* This process goes into a user namespace of its own, under the same ids and with all capabilities there. */
static int enter_namespaces(int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char uid_map[64];
	char gid_map[64];

	(void)snprintf(uid_map, sizeof uid_map, "%u %u 1", uid, uid);
	(void)snprintf(gid_map, sizeof gid_map, "%u %u 1", gid, gid);
	if (unshare(CLONE_NEWUSER | flags) < 0 || write_text("/proc/self/setgroups", "deny") < 0)
		return -1;
	if (write_text("/proc/self/gid_map", gid_map) < 0)
		return -1;
	return write_text("/proc/self/uid_map", uid_map);
}

static int allow_no_user_namespace(void)
{
	return enter_namespaces(0) < 0 ? -1 : write_text("/proc/sys/user/max_user_namespaces", "0");
}

Test(host_obstacles, max_user_namespaces)
{
	struct host host = probe_in_child("a limit on user namespaces", allow_no_user_namespace);
	char buf[240];

	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].sys_errno, ENOSPC);
	cr_expect_eq(host.facts[FACT_NET_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_SECCOMP_FILTER].state, FACT_YES);
	cr_expect_str_eq(host.facts[FACT_USER_NAMESPACE].detail, "sysctl user.max_user_namespaces is 0");
	cr_expect_not_null(strstr(host_fact_remedy(&host, FACT_NET_NAMESPACE, buf, sizeof buf), "max_user_namespaces"));
}

static int allow_no_mount_namespace(void)
{
	return enter_namespaces(0) < 0 ? -1 : write_text("/proc/sys/user/max_mnt_namespaces", "0");
}

/* A pid namespace is asked for with a mount namespace, which is what is refused. */
Test(host_obstacles, max_mnt_namespaces)
{
	static const enum host_fact lost[] = {
		FACT_MOUNT_NAMESPACE, FACT_DEVPTS_MOUNT, FACT_PID_NAMESPACE, FACT_PROC_MOUNT};
	struct host host = probe_in_child("a limit on mount namespaces", allow_no_mount_namespace);
	char buf[240];

	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_NET_NAMESPACE].state, FACT_YES);
	for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
		cr_expect_eq(host.facts[lost[i]].sys_errno, ENOSPC, "%s", host_fact_name(lost[i]));
		cr_expect_str_eq(host.facts[lost[i]].detail, "sysctl user.max_mnt_namespaces is 0");
		cr_expect_str_eq(host_fact_remedy(&host, lost[i], buf, sizeof buf),
			"set sysctl user.max_mnt_namespaces above 0");
	}
}

static int cover_proc(void)
{
	if (enter_namespaces(CLONE_NEWNS) < 0)
		return -1;
	return mount("none", "/proc/fs", "tmpfs", MS_RDONLY, NULL);
}

Test(host_obstacles, covered_proc)
{
	struct host host = probe_in_child("a covered proc", cover_proc);
	char buf[240];

	cr_expect_eq(host.facts[FACT_PID_NAMESPACE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].sys_errno, EPERM);
	cr_expect_str_eq(host.facts[FACT_PROC_MOUNT].step, "mount proc");
	cr_expect_not_null(strstr(host_fact_remedy(&host, FACT_PROC_MOUNT, buf, sizeof buf), "systempaths"), "%s", buf);
}

static int make_cgroups_readonly(void)
{
	char base[1024];

	if (group_base_find(base, sizeof base, NULL) < 0 || *base == '\0' || enter_namespaces(CLONE_NEWNS) < 0)
		return -1;
	if (mount(base, base, NULL, MS_BIND, NULL) < 0)
		return -1;
	return mount(NULL, base, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
}

Test(host_obstacles, readonly_cgroup)
{
	struct host host = probe_in_child("a read-only cgroup mount", make_cgroups_readonly);
	char buf[240];

	cr_expect_eq(host.facts[FACT_CGROUP2].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_CGROUP2].sys_errno, EROFS);
	cr_expect_str_eq(host.cgroup_path, "");
	cr_expect_not_null(strstr(host_fact_remedy(&host, FACT_CGROUP2, buf, sizeof buf), "writable"), "%s", buf);
}

/* An outer filter as a container may have it: one call is answered with `action`. */
static int refuse_call(unsigned number, unsigned action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int refuse_mounts(void)
{
	return refuse_call(SYS_mount_setattr, SECCOMP_RET_ERRNO | EACCES);
}

Test(host_obstacles, user_namespaces_without_mounts)
{
	struct host host = probe_in_child("an outer filter", refuse_mounts);
	const struct fact *fact = &host.facts[FACT_MOUNT_NAMESPACE];

	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_NET_NAMESPACE].state, FACT_YES);
	cr_expect_eq(fact->state, FACT_NO);
	cr_expect_eq(fact->sys_errno, EACCES);
	cr_expect_str_neq(fact->step, "");
	cr_expect_str_neq(fact->detail, "");
}

static int kill_landlock(void)
{
	return refuse_call(444, SECCOMP_RET_KILL_PROCESS); /* landlock_create_ruleset */
}

Test(host_obstacles, a_filter_that_kills)
{
	struct host host = probe_in_child("an outer filter", kill_landlock);

	cr_expect_eq(host.facts[FACT_LANDLOCK].state, FACT_NO);
	cr_expect_str_eq(host.facts[FACT_LANDLOCK].step, "killed by an outer seccomp filter");
	cr_expect_eq(host.facts[FACT_CLOSE_RANGE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_YES);
}

static int kill_mounts(void)
{
	return refuse_call(SYS_mount_setattr, SECCOMP_RET_KILL_PROCESS);
}

/* A launch would die of it, not its child alone. */
Test(host_obstacles, a_filter_that_kills_who_launches)
{
	struct host host = probe_in_child("an outer filter", kill_mounts);
	char buf[240];

	cr_expect_eq(host.facts[FACT_MOUNT_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_LANDLOCK].state, FACT_YES);
	cr_expect_str_eq(
		host.facts[FACT_MOUNT_NAMESPACE].detail, "an outer seccomp filter is in force and kills who asks");
	cr_expect_not_null(
		strstr(host_fact_remedy(&host, FACT_MOUNT_NAMESPACE, buf, sizeof buf), "outer seccomp filter"));
}

static __attribute__((noinline)) void ask_for_landlock(struct fact *ret_fact)
{
	struct host host;
	struct error err;

	harness_ok(host_init(&host, &err), &err);
	cr_expect_eq(host_landlock_abi(&host), 0, "nobody has asked");
	harness_ok(host_probe_landlock(&host, &err), &err);
	*ret_fact = host.facts[FACT_LANDLOCK];
	cr_expect_eq(host_landlock_abi(&host) > 0, ret_fact->state == FACT_YES);
}

Test(host_obstacles, landlock_asked_by_itself_is_the_same_landlock)
{
	struct host whole = probe_here("/tmp");
	struct fact alone;

	ask_for_landlock(&alone);
	cr_expect_eq(alone.state, whole.facts[FACT_LANDLOCK].state);
	cr_expect_str_eq(alone.step, whole.facts[FACT_LANDLOCK].step);
	cr_expect_str_eq(alone.detail, whole.facts[FACT_LANDLOCK].detail);
}

Test(host_obstacles, asking_for_landlock_survives_a_filter_that_kills)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct host host;
		struct error err;

		if (kill_landlock() < 0)
			_exit(77);
		if (host_init(&host, &err) < 0 || host_probe_landlock(&host, &err) < 0)
			_exit(1);
		_exit(host.facts[FACT_LANDLOCK].state == FACT_NO && host_landlock_abi(&host) == 0 ? 0 : 2);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip_test("no filter can be set up here");
	cr_expect(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	cr_expect_eq(WEXITSTATUS(status), 0);
}

static int refuse_clone3(void)
{
	return refuse_call(SYS_clone3, SECCOMP_RET_ERRNO | EPERM);
}

Test(host_obstacles, without_clone3_nothing_works_and_nothing_breaks)
{
	struct host host = probe_in_child("an outer filter", refuse_clone3);
	char buf[240];

	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].sys_errno, EPERM);
	cr_expect_not_null(strstr(host_fact_remedy(&host, FACT_USER_NAMESPACE, buf, sizeof buf), "seccomp"), "%s", buf);
	cr_expect_eq(host.facts[FACT_IDMAPPED_MOUNT].state, FACT_NO);
}

static int root_without_rights(void)
{
	uint64_t none = 0;

	return geteuid() != 0 ? -1 : sys_capset(none, none, none);
}

/* RLIMIT_NPROC does nothing for host uid 0, and without capabilities no other uid is to be had. */
Test(host_obstacles, root_without_capabilities_is_not_privileged)
{
	struct host host = probe_in_child("root without capabilities", root_without_rights);
	char buf[240];

	cr_expect_not(host.privileged);
	if (host.facts[FACT_USER_NAMESPACE].state == FACT_NO) /* since 5.12 root is not mapped without CAP_SETFCAP */
		cr_expect_not_null(strstr(host_fact_remedy(&host, FACT_USER_NAMESPACE, buf, sizeof buf), "CAP_SETFCAP"));
	cr_expect_eq(host.facts[FACT_ID_MAP].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_NPROC_PER_NAMESPACE].state, FACT_NO);
}

static int root_that_may_not_mount(void)
{
	uint64_t but_sys_admin = ~(1ull << CAP_SYS_ADMIN) & ((1ull << CAP_SYS_RESOURCE) - 1);

	return geteuid() != 0 ? -1 : sys_capset(but_sys_admin, but_sys_admin, 0);
}

Test(host_obstacles, what_a_launch_would_not_use_is_not_claimed)
{
	struct host host = probe_in_child("root without CAP_SYS_ADMIN", root_that_may_not_mount);

	cr_expect_not(host.privileged);
	cr_expect_eq(host.facts[FACT_NPROC_PER_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_IDMAPPED_MOUNT].state, FACT_NO);
}
