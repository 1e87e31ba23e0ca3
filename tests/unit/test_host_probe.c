/*
 * The probe on this machine: as whoever runs the tests, as an ordinary user, in a threaded program, and in children
 * that were given an obstacle of their own (a sysctl, an outer filter, a covered proc, a read-only cgroup mount).
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "runtime/host/host.h"
#include "tests/unit/harness.h"

static const struct host_wants no_wants;

TestSuite(host_probe, .fini = harness_leak_check);

#define NOBODY 65534

static struct host probe_here(const char *workspace)
{
	struct host host;
	struct error err;

	harness_ok(host_init(&host, &err), &err);
	harness_ok(host_probe(&host, workspace, &no_wants, &err), &err);
	host_done(&host);
	return host;
}

static void show(const struct host *host)
{
	char *json = NULL;

	if (host_json(host, &json, NULL) == 0)
		(void)fprintf(stderr, "%s", json);
	free(json);
}

/* Probes in a forked child after `setup`; ends the test as skipped where the setup cannot be had here. */
static struct host probe_in_child(const char *what, int (*setup)(void))
{
	struct host host;
	int pipe_fds[2];
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		struct error err = {0};

		if (setup() == 0) {
			if (host_init(&host, &err) < 0 || host_probe(&host, NULL, &no_wants, &err) < 0)
				_exit(1);
			(void)!write(pipe_fds[1], &host, sizeof host);
		}
		_exit(0);
	}
	close(pipe_fds[1]);
	n = read(pipe_fds[0], &host, sizeof host);
	close(pipe_fds[0]);
	cr_assert_eq(waitpid(pid, &(int){0}, 0), pid);
	if (n == 0)
		cr_skip_test("%s cannot be set up by this user here", what);
	cr_assert_eq(n, (ssize_t)sizeof host);
	return host;
}

static int become_nobody(void)
{
	if (geteuid() != 0)
		return 0;
	if (sys_setgroups(0, NULL) < 0 || sys_setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		sys_setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after exec: else proc's files of the children are root's */
}

/* In a frame of its own: a host is large. */
static __attribute__((noinline)) void expect_the_same_again(const struct host *host)
{
	struct host again = probe_here("/tmp");

	for (int i = 0; i < _FACT_COUNT; i++)
		cr_expect_eq(host->facts[i].state, again.facts[i].state, "%s: two calls disagree",
			host_fact_name((enum host_fact)i));
}

Test(host_probe, every_fact_is_known_and_a_lack_has_its_step)
{
	struct host host = probe_here("/tmp");

	show(&host);
	for (int i = 0; i < _FACT_COUNT; i++) {
		const struct fact *fact = &host.facts[i];

		cr_expect_neq(fact->state, FACT_UNKNOWN, "%s", host_fact_name((enum host_fact)i));
		if (fact->state == FACT_NO)
			cr_expect_str_neq(fact->step, "", "%s", host_fact_name((enum host_fact)i));
	}
	expect_the_same_again(&host);
}

Test(host_probe, ordinary_user)
{
	struct host host = probe_in_child("an ordinary user", become_nobody);
	char buf[240];

	show(&host);
	cr_expect_not(host.privileged);
	cr_expect_neq(host.uid, 0);
	cr_expect_eq(host.facts[FACT_ID_MAP].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_IDMAPPED_MOUNT].state, FACT_NO);
	cr_expect_str_neq(host_fact_remedy(&host, FACT_ID_MAP, buf, sizeof buf), "");
	if (host.facts[FACT_USER_NAMESPACE].state == FACT_NO)
		cr_expect_eq(host.facts[FACT_PID_NAMESPACE].state, FACT_NO);
	else
		cr_expect_eq(host.facts[FACT_MOUNT_NAMESPACE].state, FACT_YES);
}

Test(host_probe, what_is_known_is_not_asked)
{
	struct host host;
	struct error err;

	harness_ok(host_init(&host, &err), &err);
	host.facts[FACT_PROC_MOUNT] = (struct fact){.state = FACT_NO, .sys_errno = EPERM, .step = "said before"};
	host.facts[FACT_CGROUP2].state = FACT_NO;
	harness_ok(host_probe(&host, NULL, &no_wants, &err), &err);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].state, FACT_NO);
	cr_expect_str_eq(host.facts[FACT_PROC_MOUNT].step, "said before");
	cr_expect_str_eq(host.cgroup_path, "");
}

static void read_mountinfo(struct buf *buf)
{
	struct error err;

	harness_ok(fd_read_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20, buf, &err), &err);
}

/* Groups of this process's making. */
static int count_groups(void)
{
	char base[1024];
	char prefix[64];
	struct error err;
	const struct dirent *entry;
	DIR *directory;
	int n = 0;

	harness_ok(group_base_find(base, sizeof base, &err), &err);
	directory = *base == '\0' ? NULL : opendir(base);
	(void)snprintf(prefix, sizeof prefix, "pinfold-%d-", getpid());
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (directory != NULL)
		closedir(directory);
	return n;
}

Test(host_probe, fifty_probes_leave_nothing, .timeout = 300)
{
	cleanup_buf struct buf before = {0};
	cleanup_buf struct buf after = {0};
	int n_fds = harness_count_fds();

	read_mountinfo(&before);
	for (int i = 0; i < 50; i++)
		(void)probe_here("/tmp");
	read_mountinfo(&after);
	cr_expect_str_eq(buf_str(&before), buf_str(&after), "mounts are left");
	cr_expect_eq(harness_count_fds(), n_fds, "descriptors are left");
	cr_expect_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	cr_expect_eq(errno, ECHILD, "children are left");
	cr_expect_eq(count_groups(), 0, "cgroups are left");
}

static void *probe_in_thread(void *userdata)
{
	struct host *host = userdata;

	for (int i = 0; i < 5; i++) {
		if (host_init(host, NULL) < 0 || host_probe(host, NULL, &no_wants, NULL) < 0)
			return host;
		host_done(host);
	}
	return NULL;
}

static void *allocate_in_thread(void *userdata)
{
	volatile bool *stop = userdata;

	while (!*stop) {
		char *piece = malloc(100);

		cr_assert_not_null(piece);
		piece[0] = 1;
		free(piece);
	}
	return NULL;
}

Test(host_probe, threads_may_probe_at_once, .timeout = 300)
{
	static struct host hosts[4];
	volatile bool stop = false;
	pthread_t threads[4];
	pthread_t noise;
	void *failed;

	cr_assert_eq(pthread_create(&noise, NULL, allocate_in_thread, (void *)&stop), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, probe_in_thread, &hosts[i]), 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(threads[i], &failed), 0);
		cr_expect_null(failed);
	}
	stop = true;
	cr_assert_eq(pthread_join(noise, NULL), 0);
	for (int i = 1; i < 4; i++)
		for (int j = 0; j < _FACT_COUNT; j++)
			cr_expect_eq(hosts[i].facts[j].state, hosts[0].facts[j].state, "%s",
				host_fact_name((enum host_fact)j));
	cr_expect_eq(count_groups(), 0);
}

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

Test(host_probe, max_user_namespaces)
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
Test(host_probe, max_mnt_namespaces)
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

Test(host_probe, covered_proc)
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

Test(host_probe, readonly_cgroup)
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

Test(host_probe, user_namespaces_without_mounts)
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

Test(host_probe, a_filter_that_kills)
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
Test(host_probe, a_filter_that_kills_who_launches)
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

Test(host_probe, landlock_asked_by_itself_is_the_same_landlock)
{
	struct host whole = probe_here("/tmp");
	struct fact alone;

	ask_for_landlock(&alone);
	cr_expect_eq(alone.state, whole.facts[FACT_LANDLOCK].state);
	cr_expect_str_eq(alone.step, whole.facts[FACT_LANDLOCK].step);
	cr_expect_str_eq(alone.detail, whole.facts[FACT_LANDLOCK].detail);
}

Test(host_probe, asking_for_landlock_survives_a_filter_that_kills)
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

Test(host_probe, without_clone3_nothing_works_and_nothing_breaks)
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
Test(host_probe, root_without_capabilities_is_not_privileged)
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

Test(host_probe, what_a_launch_would_not_use_is_not_claimed)
{
	struct host host = probe_in_child("root without CAP_SYS_ADMIN", root_that_may_not_mount);

	cr_expect_not(host.privileged);
	cr_expect_eq(host.facts[FACT_NPROC_PER_NAMESPACE].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_IDMAPPED_MOUNT].state, FACT_NO);
}
