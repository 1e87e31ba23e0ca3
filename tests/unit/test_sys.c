/*
 * Each wrapper must hand its arguments on in the right order: the calls are made for real, in a child that owns a user
 * and a mount namespace where they need rights.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "tests/unit/harness.h"

TestSuite(sys, .fini = harness_leak_check, .timeout = 20);

typedef int (*child_fn)(void); /* 0, or the number of the line that failed */

/* Line numbers, since a child of clone3 must not use stdio. */
#define TRY(expression)                  \
	do {                             \
		if (!(expression))       \
			return __LINE__; \
	} while (0)

/* Runs fn in a fork-like child. Returns false where the kernel refuses the namespaces asked for. */
static bool in_child(uint64_t flags, child_fn fn)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	int fds[2], line = -1, status;
	pid_t pid;

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = sys_clone3(&args);
	if (pid == 0) {
		line = fn();
		_exit(fd_write_all(fds[1], &line, sizeof line) == 0 ? 0 : 1);
	}
	(void)fd_close(fds[1]);
	if (pid > 0) {
		cr_expect_eq(read(fds[0], &line, sizeof line), (ssize_t)sizeof line);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(line, 0, "line %d of the child failed", line);
	}
	(void)fd_close(fds[0]);
	return pid > 0;
}

static int nothing(void)
{
	return 0;
}

Test(sys, clone3_makes_a_child)
{
	cr_expect(in_child(0, nothing));
}

Test(sys, clone3_never_shares_this_stack)
{
	char stack[4096] __attribute__((aligned(16)));
	struct clone_args shared = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};
	struct clone_args stacked = {
		.exit_signal = SIGCHLD, .stack = (uint64_t)(uintptr_t)stack, .stack_size = sizeof stack};

	cr_expect_eq(sys_clone3(&shared), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(sys_clone3(&stacked), -1);
	cr_expect_eq(errno, EINVAL);
}

Test(sys, openat2_resolves_as_told)
{
	cleanup_close int root = open("/", O_PATH | O_CLOEXEC);
	cleanup_close int fd = sys_openat2(root, "proc/version", O_RDONLY | O_CLOEXEC, 0, RESOLVE_BENEATH);

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		cr_skip("this kernel or an outer filter refuses openat2");
	cr_expect_geq(fd, 0);
	cr_expect_eq(sys_openat2(root, "proc/self/status", O_RDONLY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS), -1);
	cr_expect_eq(errno, ELOOP);
	cr_expect_eq(sys_openat2(root, "proc/version", O_RDONLY, 0600, 0), -1);
	cr_expect_eq(errno, EINVAL, "a mode is handed on");
}

static uid_t outer_uid;
static gid_t outer_gid;

static bool write_proc(const char *path, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

/* Without a mapping the owner of a new directory could not be written down. */
static bool map_own_ids(void)
{
	char uid_line[64], gid_line[64];

	(void)snprintf(uid_line, sizeof uid_line, "0 %u 1", outer_uid);
	(void)snprintf(gid_line, sizeof gid_line, "0 %u 1", outer_gid);
	return write_proc("/proc/self/uid_map", uid_line) && write_proc("/proc/self/setgroups", "deny") &&
		write_proc("/proc/self/gid_map", gid_line);
}

static int use_mounts(void)
{
	struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY};
	int context, mount_fd, clone_fd;

	TRY(map_own_ids());
	TRY(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	context = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	TRY(context >= 0);
	TRY(sys_fsconfig(context, FSCONFIG_SET_STRING, "size", "64k", 0) == 0);
	TRY(sys_fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0);
	mount_fd = sys_fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	TRY(mount_fd >= 0);
	TRY(mkdirat(mount_fd, "old", 0755) == 0);
	TRY(sys_move_mount(mount_fd, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) == 0);
	clone_fd = sys_open_tree(AT_FDCWD, "/tmp", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	TRY(clone_fd >= 0);
	TRY(sys_mount_setattr(clone_fd, "", AT_EMPTY_PATH, &readonly) == 0);
	TRY(mkdirat(clone_fd, "x", 0755) == -1 && errno == EROFS);
	TRY(mkdirat(mount_fd, "x", 0755) == 0);
	TRY(chdir("/tmp") == 0);
	TRY(sys_pivot_root(".", "old") == 0);
	TRY(chdir("/") == 0);
	TRY(access("/x", F_OK) == 0 && access("/old/proc", F_OK) == 0);
	return 0;
}

Test(sys, mounts)
{
	outer_uid = geteuid();
	outer_gid = getegid();
	if (!in_child(CLONE_NEWUSER | CLONE_NEWNS, use_mounts))
		cr_skip("user namespaces are not allowed here");
}

static uint64_t capability_set(const char *name)
{
	char status[4096] = "";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *line;

	if (fd < 0 || read(fd, status, sizeof status - 1) <= 0)
		return UINT64_MAX;
	(void)fd_close(fd);
	line = strstr(status, name);
	return line != NULL ? strtoull(line + strlen(name), NULL, 16) : UINT64_MAX;
}

static int set_capabilities(void)
{
	const uint64_t net_raw = 1ull << 13, setfcap = 1ull << 31, perfmon = 1ull << 38; /* in both halves */

	TRY(sys_capset(net_raw | setfcap | perfmon, perfmon | net_raw, setfcap) == 0);
	TRY(capability_set("CapPrm:") == (net_raw | setfcap | perfmon));
	TRY(capability_set("CapEff:") == (perfmon | net_raw));
	TRY(capability_set("CapInh:") == setfcap);
	TRY(sys_capset(UINT64_MAX, 0, 0) == -1 && errno == EPERM);
	TRY(sys_capset(0, 0, 0) == 0);
	TRY(capability_set("CapPrm:") == 0);
	return 0;
}

Test(sys, capset)
{
	if (!in_child(CLONE_NEWUSER, set_capabilities))
		cr_skip("user namespaces are not allowed here");
}

static int set_ids(void)
{
	const gid_t groups[2] = {70001, 70002};
	gid_t found[8];
	uid_t ids[3];

	TRY(sys_setgroups(2, groups) == 0);
	TRY(getgroups(8, found) == 2 && found[0] == 70001 && found[1] == 70002);
	TRY(sys_setresgid(70011, 70012, 70013) == 0);
	TRY(getresgid(&ids[0], &ids[1], &ids[2]) == 0 && ids[0] == 70011 && ids[1] == 70012 && ids[2] == 70013);
	TRY(sys_setresuid(70021, 70022, 70023) == 0);
	TRY(getresuid(&ids[0], &ids[1], &ids[2]) == 0 && ids[0] == 70021 && ids[1] == 70022 && ids[2] == 70023);
	TRY(sys_setgroups(0, NULL) == -1 && errno == EPERM);
	TRY(sys_setresgid(0, 0, 0) == -1 && errno == EPERM);
	TRY(sys_setresuid(0, 0, 0) == -1 && errno == EPERM);
	return 0;
}

Test(sys, ids)
{
	if (geteuid() != 0)
		cr_skip("only root can become others");
	cr_expect(in_child(0, set_ids));
}

Test(sys, close_range)
{
	int low = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 500), high = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 510);

	cr_assert_eq(low, 500);
	cr_assert_eq(high, 510);
	cr_expect_eq(sys_close_range(501, 510, 0), 0);
	cr_expect_neq(fcntl(low, F_GETFD), -1);
	cr_expect_eq(fcntl(high, F_GETFD), -1);
	cr_expect_eq(sys_close_range(500, 500, 0), 0);
	cr_expect_eq(sys_close_range(510, 500, 0), -1);
}

Test(sys, pidfd)
{
	cleanup_close int pidfd = -1;
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (;;)
			(void)pause();
	}
	pidfd = sys_pidfd_open(child, 0);
	cr_assert_geq(pidfd, 0);
	cr_expect_eq(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(sys_pidfd_send_signal(pidfd, SIGUSR1), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	cr_expect_eq(sys_pidfd_send_signal(pidfd, 0), -1);
	cr_expect_eq(errno, ESRCH);
	cr_expect_eq(sys_pidfd_open(child, 0xffff), -1);
}

Test(sys, execveat)
{
	char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"test \"$WORD\" = here"}, NULL};
	char *const envp[] = {(char[]){"WORD=here"}, NULL};
	cleanup_close int shell = open("/bin/sh", O_PATH | O_CLOEXEC);
	int status;
	pid_t child;

	cr_assert_geq(shell, 0);
	child = fork();
	if (child == 0) {
		(void)sys_execveat(shell, "", argv, envp, AT_EMPTY_PATH);
		_exit(99);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect_eq(sys_execveat(shell, "", argv, envp, 0), -1);
	cr_expect_eq(errno, ENOENT);
}

static int join_session(void)
{
	long first = sys_keyctl_join_session(), second = sys_keyctl_join_session();

	if (first < 0 && (errno == ENOSYS || errno == EPERM || errno == EDQUOT))
		return 0; /* an outer filter or quota; there is nothing left to look at */
	TRY(first > 0 && second > 0 && first != second);
	return 0;
}

Test(sys, keyctl_join_session)
{
	cr_expect(in_child(0, join_session));
}

Test(sys, seccomp)
{
	uint32_t known = SECCOMP_RET_ERRNO, unknown = 0x12340000;

	cr_expect_eq(sys_seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &known), 0);
	cr_expect_eq(sys_seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &unknown), -1);
	cr_expect_eq(errno, EOPNOTSUPP);
	cr_expect_eq(sys_seccomp(SECCOMP_GET_ACTION_AVAIL, 1, &known), -1);
	cr_expect_eq(errno, EINVAL);
}
