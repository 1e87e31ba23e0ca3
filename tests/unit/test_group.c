/*
 * Groups: names, figures and removal on made-up trees; making, killing, counting and sweeping in the machine's own
 * cgroup version 2 tree, where this user may write to one.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/sys.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/group_name.h"
#include "cgroup/group_tree.h"
#include "cgroup/lock.h"
#include "cgroup/usage.h"
#include "tests/unit/harness.h"

TestSuite(group, .fini = harness_leak_check);

Test(group, names_are_read_strictly)
{
	static const char *const refused[] = {"", "pinfold-", "pinfold-1", "pinfold-1-2", "pinfold-1-2-",
		"pinfold--1-2-3", "pinfold-0-2-3", "pinfold-01-2-3", "pinfold-1-02-3", "pinfold-1-2-3-4",
		"pinfold-1-2-3 ", "pinfold-1-2-3/..", "pinfold-+1-2-3", "pinfold- 1-2-3", "pinfold-1-2-0x3",
		"Pinfold-1-2-3", "xpinfold-1-2-3", "pinfold-2147483648-2-3", "pinfold-1-18446744073709551616-3",
		"pinfold-1-2-99999999999999999999999"};
	struct group_maker maker;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		cr_expect_not(group_name_parse(refused[i], &maker), "\"%s\"", refused[i]);
	cr_assert(group_name_parse("pinfold-2147483647-18446744073709551615-0", &maker));
	cr_expect_eq(maker.pid, 2147483647);
	cr_expect_eq(maker.start_time, UINT64_MAX);
}

Test(group, names_go_round)
{
	struct group_maker self, read;
	struct error err;
	char name[GROUP_NAME_MAX];

	harness_ok(group_maker_self(&self, &err), &err);
	cr_expect_eq(self.pid, getpid());
	group_name_format(self, UINT64_MAX, name, sizeof name);
	cr_assert(group_name_parse(name, &read), "%s", name);
	cr_expect_eq(read.pid, self.pid);
	cr_expect_eq(read.start_time, self.start_time);
}

static uint64_t start_time_of(pid_t pid)
{
	cleanup_buf struct buf text = {0};
	char path[64];
	uint64_t ticks = 0;
	struct error err;
	char state;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	harness_ok(fd_read_file(AT_FDCWD, path, 4096, &text, &err), &err);
	cr_assert(group_parse_stat(buf_str(&text), &state, &ticks));
	cr_assert_eq(state, 'Z');
	return ticks;
}

Test(group, makers_live_until_they_end)
{
	struct group_maker self;
	struct group_maker child;
	siginfo_t info;
	struct error err;

	harness_ok(group_maker_self(&self, &err), &err);
	cr_expect(group_maker_lives(self));
	self.start_time++;
	cr_expect_not(group_maker_lives(self), "a pid used again is another process");
	child.pid = fork();
	if (child.pid == 0)
		_exit(0);
	cr_assert_eq(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	child.start_time = start_time_of(child.pid);
	cr_expect_not(group_maker_lives(child), "nobody has waited for it, but it has ended");
	cr_assert_eq(waitpid(child.pid, NULL, 0), child.pid);
	cr_expect_not(group_maker_lives(child));
}

Test(group, stat_is_read_behind_any_name)
{
	static const char stat[] = "7 (a) S 1 (b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
	uint64_t ticks = 0;
	char state = '?';

	cr_assert(group_parse_stat(stat, &state, &ticks));
	cr_expect_eq(ticks, 4711);
	cr_expect_eq(state, 'R');
	cr_expect_not(group_parse_stat("7 (a) S 1 2 3", &state, &ticks));
	cr_expect_not(group_parse_stat("7 (a)", &state, &ticks));
	cr_expect_not(group_parse_stat("", &state, &ticks));
}

Test(group, cpu_figures)
{
	uint64_t user = 0, system = 0;

	cr_assert(usage_parse_cpu("usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_user_usec 77\n", &user, &system));
	cr_expect_eq(user, 5000);
	cr_expect_eq(system, 4000);
	cr_expect_not(usage_parse_cpu("usage_usec 9\nuser_usec 5\n", &user, &system));
	cr_expect_not(usage_parse_cpu("user_usec x\nsystem_usec 4\n", &user, &system));
	cr_expect_not(usage_parse_cpu("", &user, &system));
}

Test(group, single_figures)
{
	uint64_t value = 0;

	cr_assert(usage_parse_number("4096\n", &value));
	cr_expect_eq(value, 4096);
	cr_assert(usage_parse_number("max\n", &value));
	cr_expect_eq(value, UINT64_MAX);
	cr_expect_not(usage_parse_number("", &value));
	cr_expect_not(usage_parse_number("-1\n", &value));
	cr_expect_not(usage_parse_number("1 2\n", &value));
	cr_assert(usage_parse_value("low 0\noom 2\noom_kill 3\noom_group_kill 1\n", "oom_kill", &value));
	cr_expect_eq(value, 3);
	cr_assert(usage_parse_value("low 0\noom 2\noom_kill 3\n", "oom", &value));
	cr_expect_eq(value, 2, "not the one whose name only begins so");
	cr_expect_not(usage_parse_value("oom_kill 3\n", "oom", &value));
	cr_expect_not(usage_parse_value("oom x\n", "oom", &value));
}

static void make_tree(int fd, const char *name, int depth)
{
	int at;

	cr_assert_eq(mkdirat(fd, name, 0700), 0);
	if (depth == 0)
		return;
	at = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_tree(at, "a", depth - 1);
	make_tree(at, ".b", depth - 1);
	close(at);
}

Test(group, trees_are_removed_whole)
{
	char path[256];
	int fd = harness_tmpdir(path, sizeof path), n_fds = harness_count_fds();

	make_tree(fd, "top", 5);
	cr_expect_eq(group_tree_remove(fd, "top", monotime_after_ns(10 * NS_PER_S)), 0);
	cr_expect_eq(faccessat(fd, "top", F_OK, 0), -1);
	cr_expect_eq(group_tree_remove(fd, "top", 0), 0, "gone already is fine");
	cr_expect_eq(harness_count_fds(), n_fds);
	close(fd);
	harness_rm_tree(path);
}

Test(group, removal_ends_at_the_deadline_and_follows_no_symlink)
{
	char path[256];
	int fd = harness_tmpdir(path, sizeof path);
	uint64_t begin = monotime_ns();

	make_tree(fd, "busy", 1);
	close(openat(fd, "busy/a/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	cr_expect_eq(group_tree_remove(fd, "busy", monotime_after_ns(50 * NS_PER_MS)), -1);
	cr_expect_eq(errno, ENOTEMPTY);
	cr_expect_geq(monotime_ns() - begin, 50 * NS_PER_MS);
	make_tree(fd, "target", 0);
	cr_assert_eq(symlinkat("target", fd, "link"), 0);
	cr_expect_eq(group_tree_remove(fd, "link", monotime_after_ns(NS_PER_MS)), -1);
	cr_expect_eq(faccessat(fd, "target", F_OK, 0), 0);
	close(fd);
	harness_rm_tree(path);
}

Test(group, a_named_base_must_be_a_cgroup)
{
	char path[256], base[256];
	int fd = harness_tmpdir(path, sizeof path);
	struct error err = {0};

	setenv("PINFOLD_CGROUP", path, 1);
	cr_expect_eq(group_base_find(base, sizeof base, &err), -1);
	cr_expect_eq(err.code, ERROR_UNSUPPORTED);
	setenv("PINFOLD_CGROUP", "relative", 1);
	cr_expect_eq(group_base_find(base, sizeof base, &err), -1);
	setenv("PINFOLD_CGROUP", "/nowhere/at/all", 1);
	cr_expect_eq(group_base_find(base, sizeof base, &err), -1);
	cr_expect_eq(err.code, ERROR_NOT_FOUND);
	cr_expect_eq(group_sweep(path, &(size_t){0}, &err), -1);
	close(fd);
	harness_rm_tree(path);
}

/* A base that can be written to, or the test is skipped. */
static void need_base(char base[512])
{
	struct error err;

	harness_ok(group_base_find(base, 512, &err), &err);
	if (*base == '\0')
		cr_skip_test("no cgroup version 2 tree is mounted here");
	if (access(base, W_OK) != 0)
		cr_skip_test("%s cannot be written to by this user", base);
}

Test(group, a_symlink_to_a_cgroup_is_refused)
{
	char path[256], base[512], link[300];
	struct error err = {0};

	need_base(base);
	close(harness_tmpdir(path, sizeof path));
	(void)snprintf(link, sizeof link, "%s/link", path);
	cr_assert_eq(symlink(base, link), 0);
	setenv("PINFOLD_CGROUP", link, 1);
	cr_expect_eq(group_base_find(base, sizeof base, &err), -1);
	cr_expect_eq(err.sys_errno, ELOOP);
	harness_rm_tree(path);
}

/* A child in the group that never ends by itself; it dies with the test. */
static pid_t sleeper_in(const struct group *group)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)group_fd(group)};
	pid_t pid = sys_clone3(&args);

	if (pid == 0) {
		for (;;)
			pause();
	}
	cr_assert_gt(pid, 0, "clone3 into the cgroup: %s", strerror(errno));
	return pid;
}

static struct group *new_group(const char *base)
{
	struct group *group = NULL;
	struct error err;

	harness_ok(group_make(base, false, &group, &err), &err);
	return group;
}

static void path_of(const char *base, const struct group *group, char path[1024])
{
	(void)snprintf(path, 1024, "%s/%s", base, group_name(group));
}

Test(group, made_entered_killed_counted_removed)
{
	char base[512], path[1024];
	struct group *group;
	struct error err;
	uint64_t user = 1, system = 1;
	int status = 0, n_fds = harness_count_fds();
	pid_t pid;

	need_base(base);
	group = new_group(base);
	path_of(base, group, path);
	pid = sleeper_in(group);
	cr_assert_eq(group_kill(group), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(WTERMSIG(status), SIGKILL);
	harness_ok(group_cpu_usage(group, &user, &system, &err), &err);
	harness_ok(group_remove(group, &err), &err);
	harness_ok(group_remove(group, &err), &err);
	cr_expect_eq(access(path, F_OK), -1);
	cr_expect_null(group_free(group));
	cr_expect_eq(harness_count_fds(), n_fds);
}

Test(group, free_kills_and_removes_what_the_tree_made_too)
{
	char base[512], path[1024], sub[1200];
	struct group *group;
	int status = 0;
	pid_t pid;

	need_base(base);
	group = new_group(base);
	path_of(base, group, path);
	(void)snprintf(sub, sizeof sub, "%s/a", path);
	cr_assert_eq(mkdir(sub, 0755), 0);
	(void)snprintf(sub, sizeof sub, "%s/a/.b", path);
	cr_assert_eq(mkdir(sub, 0755), 0);
	pid = sleeper_in(group);
	cr_expect_null(group_free(group));
	cr_expect_eq(access(path, F_OK), -1);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(WTERMSIG(status), SIGKILL);
}

Test(group, two_of_one_process_have_two_names)
{
	char base[512];
	struct group *a, *b;

	need_base(base);
	a = new_group(base);
	b = new_group(base);
	cr_expect_str_neq(group_name(a), group_name(b));
	group_free(a);
	group_free(b);
}

/* Makes a group and leaves it behind as a killed supervisor does; its path goes to `path`. */
static void leave_group(const char *base, char path[1024])
{
	int pipe_fds[2];
	pid_t pid;

	cr_assert_eq(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		struct group *group = NULL;

		if (group_make(base, false, &group, NULL) == 0) {
			char sub[1200];

			path_of(base, group, path);
			(void)snprintf(sub, sizeof sub, "%s/sub", path);
			(void)!mkdir(sub, 0755);
			(void)!write(pipe_fds[1], path, 1024);
		}
		_exit(0);
	}
	close(pipe_fds[1]);
	cr_assert_eq(read(pipe_fds[0], path, 1024), 1024);
	close(pipe_fds[0]);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(group, the_sweep_takes_the_dead_and_leaves_the_living)
{
	char base[512], dead[1024], alive[1024], foreign[1024];
	struct group *group;
	struct error err;
	size_t n = 0;

	need_base(base);
	group = new_group(base);
	path_of(base, group, alive);
	leave_group(base, dead);
	(void)snprintf(foreign, sizeof foreign, "%s/pinfold-%d-1-1x", base, getpid());
	cr_assert_eq(mkdir(foreign, 0755), 0);
	cr_assert_eq(access(dead, F_OK), 0);
	harness_ok(group_sweep(base, &n, &err), &err);
	cr_expect_geq(n, 1);
	cr_expect_eq(access(dead, F_OK), -1);
	cr_expect_eq(access(alive, F_OK), 0);
	cr_expect_eq(access(foreign, F_OK), 0, "a name that is not ours was touched");
	cr_expect_eq(rmdir(foreign), 0);
	group_free(group);
}

/* As from another pid namespace: the name says that the maker is dead, but the lock is held. */
Test(group, the_sweep_leaves_what_is_locked)
{
	char base[512], path[1024], name[GROUP_NAME_MAX];
	struct group_maker nobody = {.pid = 0x7ffffff0, .start_time = 1};
	struct error err;
	size_t n = 0;
	int fd, lock;

	need_base(base);
	(void)snprintf(path, sizeof path, "%s/%s", base, group_name_format(nobody, monotime_ns(), name, sizeof name));
	cr_assert_eq(mkdir(path, 0755), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lock = lock_shared(fd, &err);
	cr_assert_geq(lock, 0);
	harness_ok(group_sweep(base, &n, &err), &err);
	cr_expect_eq(access(path, F_OK), 0);
	close(lock);
	close(fd);
	harness_ok(group_sweep(base, &n, &err), &err);
	cr_expect_eq(access(path, F_OK), -1);
}

/* Threat: anybody may open a cgroup's directory and files for reading, and lock what he has opened. */
Test(group, readers_keep_nobody_from_making_groups)
{
	struct flock shared = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	struct flock alone = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char base[512], own[600];
	int directory, procs, lock;
	struct error err;

	need_base(base);
	(void)snprintf(own, sizeof own, "%s/locks-%d", base, (int)getpid());
	cr_assert_eq(mkdir(own, 0755), 0);
	directory = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	procs = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(flock(directory, LOCK_EX), 0);
	cr_assert_eq(fcntl(procs, F_OFD_SETLK, &shared), 0);
	cr_expect_eq(fcntl(procs, F_OFD_SETLK, &alone), -1, "a reader got the exclusive lock");
	lock = lock_shared(directory, &err);
	cr_assert_geq(lock, 0);
	cr_expect_not(lock_alone(lock), "somebody else holds it");
	cr_expect_eq(lock_at_once(directory), -1);
	close(procs);
	cr_expect(lock_alone(lock));
	close(lock);
	lock = lock_at_once(directory);
	cr_expect_geq(lock, 0);
	close(lock);
	close(directory);
	cr_expect_eq(rmdir(own), 0);
}

Test(group, removal_of_a_group_with_a_living_task_fails_in_time)
{
	char base[512];
	struct group *group;
	struct error err = {0};
	uint64_t begin;
	pid_t pid;

	need_base(base);
	group = new_group(base);
	pid = sleeper_in(group);
	begin = monotime_ns();
	cr_expect_eq(group_remove(group, &err), -1);
	cr_expect_eq(err.sys_errno, EBUSY);
	cr_expect_leq(monotime_ns() - begin, 20 * NS_PER_S);
	group_free(group);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}
