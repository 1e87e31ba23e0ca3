/*
 * Each scene is a tree of its own in a pid namespace of its own, which takes at most some 64 MiB under a RLIMIT_AS,
 * says "ready" and waits to be killed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotime.h"
#include "cgroup/watch_memory.h"
#include "cgroup/watch_tree.h"
#include "cgroup/watchdog.h"
#include "tests/unit/fake_init.h"
#include "tests/unit/harness.h"
#include "tests/unit/memory_acts.h"

TestSuite(watchdog, .fini = harness_leak_check, .timeout = 120);

struct scene {
	void (*act)(void);
};

/* AddressSanitizer reserves terabytes. */
static void limit_addresses(void)
{
#ifndef WITH_ASAN
	const struct rlimit limit = {ADDRESS, ADDRESS};

	(void)setrlimit(RLIMIT_AS, &limit);
#endif
}

static void hold(int control, void *userdata)
{
	const struct scene *scene = userdata;
	pid_t pid;

	limit_addresses();
	pid = fake_tree_fork();
	if (pid == 0) {
		scene->act();
		(void)send(control, "ready", 5, 0);
		for (;;)
			(void)pause();
	}
	(void)waitpid(pid, NULL, 0);
}

/* --- what is seen of them ---------------------------------------------------------------------------------------- */

struct look {
	struct fake_tree tree;
	struct watchdog *watchdog;
};

static struct look open_look(void (*act)(void), uint64_t limit)
{
	struct scene scene = {act};
	struct look look = {.tree = fake_tree_start(hold, &scene)};
	struct error err = {0};
	struct watch_sysv sysv;
	char answer[8];

	cr_assert_eq(recv(look.tree.control_fd, answer, sizeof answer, 0), 5, "the tree ended early");
	sysv = (struct watch_sysv){look.tree.sysvipc_fd, look.tree.sem_fd, look.tree.msg_fd};
	harness_ok(watchdog_new(look.tree.proc_fd, 0, &look.tree.tmpfs_fd, 1, &sysv, limit, &look.watchdog, &err), &err);
	return look;
}

static void close_look(struct look *look)
{
	look->watchdog = watchdog_free(look->watchdog);
	fake_tree_stop(&look->tree);
}

/* The first look above a limit is not believed: two. */
static struct watchdog_sample sample_twice(struct look *look)
{
	struct watchdog_sample sample = {0};
	struct error err = {0};

	for (int i = 0; i < 2; i++)
		harness_ok(watchdog_sample(look->watchdog, &sample, &err), &err);
	return sample;
}

static void expect_memory(void (*act)(void), size_t wanted, const char *what)
{
	struct look look = open_look(act, TIGHT);
	struct watchdog_sample sample = sample_twice(&look);

	cr_expect_geq(sample.memory_bytes, wanted - SLACK, "%s: %llu", what, (unsigned long long)sample.memory_bytes);
	cr_expect_leq(sample.memory_bytes, wanted + ABOVE, "%s: %llu", what, (unsigned long long)sample.memory_bytes);
	close_look(&look);
}

/* Far above, the cheap bound answers; it may count too much or too little, but not say that the limit is passed. */
static void expect_cheap(void (*act)(void), const char *what)
{
	struct look look = open_look(act, 4096 * MIB);
	struct watchdog_sample sample = sample_twice(&look);

	cr_expect_lt(sample.memory_bytes, 8 * HOG, "%s: %llu", what, (unsigned long long)sample.memory_bytes);
	cr_expect_eq(watchdog_interval_ns(look.watchdog), 50 * NS_PER_MS, "%s", what);
	close_look(&look);
}

static const struct {
	const char *what;
	void (*act)(void);
} hogs[] = {
	{"private", take_private},
	{"shared", take_shared},
	{"written memory file", take_written_memfile},
	{"mapped memory file", take_mapped_memfile},
	{"memory file that is only mapped", take_memfile_mapped_only},
	{"tmpfs", take_tmpfs},
	{"mapped tmpfs", take_mapped_tmpfs},
	{"deleted tmpfs", take_deleted_tmpfs},
	{"SysV", take_sysv},
	{"detached SysV", take_detached_sysv},
	{"many small children", take_many_small},
	{"forked copies", share_after_fork},
	{"shared memory file", share_memfile},
	{"vfork", share_by_vfork},
	{"clone that waits and copies", copy_by_waiting_clone},
	{"a first thread that ended", outlive_the_first_thread},
	{"a memory file of such a process", outlive_with_memfile},
	{"semaphores", make_semaphores},
	{"page tables", take_page_tables},
};

Test(watchdog, counts_each_kind_of_memory_once)
{
	for (size_t i = 0; i < sizeof hogs / sizeof *hogs; i++)
		expect_memory(hogs[i].act, HOG, hogs[i].what);
}

Test(watchdog, is_cheap_far_below_the_limit)
{
	for (size_t i = 0; i < sizeof hogs / sizeof *hogs; i++)
		expect_cheap(hogs[i].act, hogs[i].what);
}

/* What is in flight takes up to twice its size, as the allocator rounds. */
Test(watchdog, counts_messages)
{
	struct look look = open_look(send_messages, MIB);
	struct watchdog_sample sample = sample_twice(&look);

	cr_expect_geq(sample.memory_bytes, QUEUES * 16384u);
	cr_expect_leq(sample.memory_bytes, QUEUES * 16384u * 2 + SLACK);
	close_look(&look);
}

#define LOOKED_AT 65536

/* The last of several processes with many descriptors each has a memory file. */
static void open_very_many(void)
{
	struct rlimit limit;
	int ready[2];
	char c;

	if (pipe(ready) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		_exit(86);
	limit.rlim_cur = limit.rlim_max < 20000 ? limit.rlim_max : 20000;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	while (dup(0) >= 0)
		;
	for (rlim_t n = 0; n <= LOOKED_AT; n += limit.rlim_cur) {
		if (fake_tree_fork() == 0) {
			(void)close(MEMFILE_FD);
			if (n + limit.rlim_cur > LOOKED_AT)
				take_written_memfile();
			(void)!write(ready[1], "r", 1);
			for (;;)
				(void)pause();
		}
		(void)!read(ready[0], &c, 1);
	}
}

/* A search that ends early is not taken for one that found nothing. */
Test(watchdog, is_in_doubt_where_there_are_too_many_descriptors)
{
	struct look look = open_look(open_very_many, TIGHT);
	struct watchdog_sample sample = {0};
	struct error err = {0};

	harness_ok(watchdog_sample(look.watchdog, &sample, &err), &err);
	cr_expect_eq(watchdog_interval_ns(look.watchdog), 2 * NS_PER_MS);
	cr_expect(watchdog_is_suspicious(look.watchdog));
	cr_expect_lt(watchdog_sample(look.watchdog, &sample, &err), 0);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_not_null(strstr(err.text, "descriptors"), "%s", err.text);
	close_look(&look);
}

Test(watchdog, does_not_count_files_and_reservations)
{
	expect_memory(map_a_file, 0 + SLACK, "a mapped file");
	expect_memory(reserve, 0 + SLACK, "reserved addresses");
}

Test(watchdog, does_not_believe_one_look)
{
	struct look look = open_look(take_private, TIGHT);
	struct watchdog_sample sample = {0};
	struct error err = {0};

	harness_ok(watchdog_sample(look.watchdog, &sample, &err), &err);
	cr_expect_eq(sample.memory_bytes, TIGHT);
	cr_expect_eq(watchdog_interval_ns(look.watchdog), 2 * NS_PER_MS);
	harness_ok(watchdog_sample(look.watchdog, &sample, &err), &err);
	cr_expect_gt(sample.memory_bytes, TIGHT);
	close_look(&look);
}

Test(watchdog, counts_processes_without_the_init)
{
	struct look look = open_look(take_many_small, UINT64_MAX);
	struct watchdog_sample sample = sample_twice(&look);

	cr_expect_eq(sample.processes, COPIES + 1);
	close_look(&look);
}

Test(watchdog, counts_cpu_time_of_living_and_waited_for)
{
	struct look look = open_look(burn_cpu, UINT64_MAX);
	struct watchdog_sample sample = sample_twice(&look);

	cr_expect_geq(sample.cpu_user_ns + sample.cpu_system_ns, 20 * NS_PER_MS);
	close_look(&look);
	look = open_look(burn_cpu_in_waited_children, UINT64_MAX);
	sample = sample_twice(&look);
	cr_expect_geq(sample.cpu_user_ns + sample.cpu_system_ns, 20 * NS_PER_MS);
	close_look(&look);
}

Test(watchdog, cpu_time_never_decreases)
{
	struct look look = open_look(burn_cpu, UINT64_MAX);
	struct watchdog_sample before = sample_twice(&look), after = {0};
	struct error err = {0};

	cr_assert_eq(kill(look.tree.pid, SIGKILL), 0);
	cr_assert_eq(waitid(P_PIDFD, (id_t)look.tree.pidfd, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	(void)usleep(20000); /* older than the statistics may be */
	harness_ok(watchdog_sample(look.watchdog, &after, &err), &err);
	cr_expect_eq(after.processes, 0);
	cr_expect_geq(after.cpu_user_ns + after.cpu_system_ns, before.cpu_user_ns + before.cpu_system_ns);
	close_look(&look);
}

Test(watchdog, keeps_few_descriptors)
{
	struct look look = open_look(take_many_small, UINT64_MAX);
	int before = harness_count_fds();
	struct watchdog_sample sample = sample_twice(&look);

	(void)sample;
	cr_expect_leq(harness_count_fds() - before, 16);
	look.watchdog = watchdog_free(look.watchdog);
	cr_expect_eq(harness_count_fds(), before - 1);
	close_look(&look);
}

Test(watchdog, reads_a_stat_whatever_the_name)
{
	struct watch_process process = {0};
	const char *text = "7 (a) b) (c) R 5 7 7 0 -1 4194560 1 2 3 4 100 50 7 8 20 0 3 0 4242 0 0";

	cr_assert(watch_process_parse_stat(text, &process));
	cr_expect_eq(process.state, 'R');
	cr_expect_eq(process.parent, 5);
	cr_expect_eq(process.own.user_ns, 1000 * NS_PER_MS);
	cr_expect_eq(process.own.system_ns, 500 * NS_PER_MS);
	cr_expect_eq(process.children.user_ns, 70 * NS_PER_MS);
	cr_expect_eq(process.children.system_ns, 80 * NS_PER_MS);
	cr_expect_eq(process.tasks, 3);
	cr_expect_eq(process.start_time, 4242);
	cr_expect_not(process.is_ending);
	cr_assert(watch_process_parse_stat("7 (a) D 5 7 7 0 -1 4194564 1 2 3 4 0 0 0 0 20 0 1 0 4242 0 0", &process));
	cr_expect(process.is_ending);
	cr_expect_not(watch_process_parse_stat("", &process));
	cr_expect_not(watch_process_parse_stat("7 (a) R 5 7", &process));
	cr_expect_not(watch_process_parse_stat("7 (a", &process));
}

Test(watchdog, reads_a_figure_by_its_whole_name)
{
	cr_expect_eq(watch_memory_parse_kb("Pss_Anon:    8 kB\nPss:   4 kB\n", "Pss"), 4096);
	cr_expect_eq(watch_memory_parse_kb("Pss_Anon:    8 kB\nPss:   4 kB\n", "Pss_Anon"), 8192);
	cr_expect_eq(watch_memory_parse_kb("Pss_Anon:    8 kB\n", "Rss"), 0);
	cr_expect_eq(watch_memory_parse_kb("", "Rss"), 0);
}
