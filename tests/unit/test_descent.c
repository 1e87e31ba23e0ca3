/*
 * What descends from a process, by those who look for it: init's sweep, the watchdog's list, and the watchdog where the
 * tree has lost its init. Each scene is a subreaper with three generations below it, among them a process in a session
 * of its own whose parent has ended; beside it stands a bystander that must never be met.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "base/sys.h"
#include "cgroup/watch_descent.h"
#include "cgroup/watchdog.h"
#include "runtime/launch/init_sweep.h"
#include "tests/unit/fake_init.h"
#include "tests/unit/harness.h"

TestSuite(descent, .fini = harness_leak_check, .timeout = 60);

#define MEMBERS     4 /* of a scene's tree, without its root */
#define STACK_SIZE  16384
#define PATIENCE    (10 * NS_PER_S)
#define GENERATIONS 100000

struct scene {
	pid_t root, bystander;
	int pidfd, proc_fd, ready_fd;
	pid_t members[MEMBERS];
};

static _Noreturn void wait_for_ever(void)
{
	for (;;)
		(void)pause();
}

static void tell(int fd)
{
	pid_t self = getpid();

	(void)!write(fd, &self, sizeof self);
}

static int live_on(void *unused)
{
	(void)unused;
	wait_for_ever();
}

/* The first thread ends, another lives: in proc such a process looks dead. */
static _Noreturn void outlive_first_thread(int fd)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));

	(void)clone(
		live_on, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
	tell(fd);
	for (;;)
		(void)syscall(SYS_exit, 0);
}

static _Noreturn void become_root(int fd)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)setsid();
	if (fake_tree_fork() == 0) {
		if (fake_tree_fork() == 0) {
			(void)setsid();
			if (fake_tree_fork() == 0) {
				tell(fd);
				wait_for_ever();
			}
			tell(fd);
			wait_for_ever();
		}
		_exit(0); /* its child becomes the root's */
	}
	if (fake_tree_fork() == 0)
		outlive_first_thread(fd);
	if (fake_tree_fork() == 0) {
		tell(fd);
		wait_for_ever();
	}
	for (;;) {
		if (waitpid(-1, NULL, 0) < 0)
			(void)usleep(1000);
	}
}

static struct scene scene_open(void)
{
	struct scene scene = {.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	scene.bystander = fake_tree_fork();
	if (scene.bystander == 0)
		wait_for_ever();
	scene.root = fake_tree_fork();
	if (scene.root == 0)
		become_root(ends[1]);
	(void)close(ends[1]);
	scene.ready_fd = ends[0];
	for (size_t i = 0; i < MEMBERS; i++)
		cr_assert_eq(read(ends[0], &scene.members[i], sizeof(pid_t)), (ssize_t)sizeof(pid_t));
	scene.pidfd = sys_pidfd_open(scene.root, 0);
	cr_assert(scene.pidfd >= 0 && scene.proc_fd >= 0);
	(void)usleep(20000); /* the intermediate parent and the first thread are gone */
	return scene;
}

static bool lives(pid_t pid)
{
	char path[64], text[256] = "";
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		(void)close(fd);
	return n > 0 && strstr(text, ") Z") == NULL;
}

static void scene_close(struct scene *scene)
{
	cr_expect(lives(scene->bystander), "the bystander was met");
	(void)kill(scene->bystander, SIGKILL);
	(void)kill(scene->root, SIGKILL);
	for (size_t i = 0; i < MEMBERS; i++)
		(void)kill(scene->members[i], SIGKILL);
	(void)waitpid(scene->bystander, NULL, 0);
	(void)waitpid(scene->root, NULL, 0);
	(void)close(scene->pidfd);
	(void)close(scene->proc_fd);
	(void)close(scene->ready_fd);
}

static struct init_sweep sweep_of(const struct scene *scene, int signo, bool scan)
{
	return (struct init_sweep){
		.proc_fd = scene->proc_fd, .root = scene->root, .root_pidfd = scene->pidfd, .signo = signo, .scan = scan};
}

Test(descent, a_sweep_finds_all_and_nobody_else)
{
	struct scene scene = scene_open();

	for (int scan = 0; scan < 2; scan++) {
		struct init_sweep sweep = sweep_of(&scene, 0, scan);
		char names[200], wanted[32];

		sweep.names = names;
		sweep.names_size = sizeof names;
		init_sweep(&sweep);
		cr_expect_eq(sweep.living, MEMBERS, "scan %d: %u", scan, sweep.living);
		cr_expect_eq(sweep.refused, 0);
		for (size_t i = 0; i < MEMBERS; i++) {
			(void)snprintf(wanted, sizeof wanted, "(%d)", (int)scene.members[i]);
			cr_expect_not_null(strstr(names, wanted), "%s is not in %s", wanted, names);
		}
	}
	scene_close(&scene);
}

Test(descent, names_that_do_not_fit_are_left_out)
{
	struct scene scene = scene_open();
	struct init_sweep sweep = sweep_of(&scene, 0, false);
	char names[64];

	memset(names, 'x', sizeof names);
	sweep.names = names;
	sweep.names_size = 48;
	init_sweep(&sweep);
	cr_expect_lt(strnlen(names, 48), 48);
	cr_expect_eq(names[48], 'x');
	cr_expect_eq(sweep.living, MEMBERS);
	scene_close(&scene);
}

static void sweep_until_none(const struct scene *scene, bool scan)
{
	uint64_t until = monotime_after_ns(PATIENCE);
	struct init_sweep sweep = sweep_of(scene, SIGKILL, scan);

	do
		init_sweep(&sweep);
	while (sweep.living > 0 && monotime_ns() < until);
	cr_expect_eq(sweep.living, 0, "%u live on", sweep.living);
}

Test(descent, a_sweep_ends_all_and_nobody_else)
{
	for (int scan = 0; scan < 2; scan++) {
		struct scene scene = scene_open();

		sweep_until_none(&scene, scan);
		for (size_t i = 0; i < MEMBERS; i++)
			cr_expect_not(lives(scene.members[i]), "member %zu lives", i);
		cr_expect(lives(scene.root), "the root is not below itself");
		scene_close(&scene);
	}
}

/* Each forks a successor in a new session and leaves: no pid holds still. It ends by itself, should nobody end it. */
static _Noreturn void run_away(int fd)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (fake_tree_fork() == 0) {
		tell(fd);
		for (unsigned i = 0; i < GENERATIONS; i++) {
			if (fake_tree_fork() > 0)
				_exit(0);
			(void)setsid();
		}
		_exit(1);
	}
	for (;;) {
		if (waitpid(-1, NULL, 0) < 0)
			(void)usleep(1000);
	}
}

Test(descent, a_sweep_catches_who_runs_away)
{
	struct scene scene = {.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int ends[2];
	pid_t first;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	scene.root = fake_tree_fork();
	if (scene.root == 0)
		run_away(ends[1]);
	cr_assert_eq(read(ends[0], &first, sizeof first), (ssize_t)sizeof first);
	scene.pidfd = sys_pidfd_open(scene.root, 0);
	for (unsigned quiet = 0; quiet < 3; quiet++) /* once is no proof: it may have been between two lives */
		sweep_until_none(&scene, false);
	cr_assert_eq(sys_pidfd_send_signal(scene.pidfd, SIGKILL), 0);
	(void)waitpid(scene.root, NULL, 0);
	(void)close(scene.pidfd);
	(void)close(scene.proc_fd);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static bool has(const struct watch_descent *descent, pid_t pid)
{
	for (size_t i = 0; i < descent->n; i++) {
		if (descent->pids[i] == pid)
			return true;
	}
	return false;
}

Test(descent, a_list_has_all_and_nobody_else)
{
	struct scene scene = scene_open();

	for (int scan = 0; scan < 2; scan++) {
		struct watch_descent descent = {.proc_fd = scene.proc_fd, .root = scene.root, .scan = scan};
		struct error err = {0};

		harness_ok(watch_descent_list(&descent, &err), &err);
		cr_expect_eq(descent.n, MEMBERS, "scan %d: %zu", scan, descent.n);
		for (size_t i = 0; i < MEMBERS; i++)
			cr_expect(has(&descent, scene.members[i]), "scan %d: member %zu is missing", scan, i);
		free(descent.pids);
	}
	scene_close(&scene);
}

static struct watchdog *watch(const struct scene *scene)
{
	const struct watch_sysv none = {-1, -1, -1};
	struct watchdog *watchdog = NULL;
	struct error err = {0};

	harness_ok(watchdog_new(scene->proc_fd, scene->root, NULL, 0, &none, UINT64_MAX, &watchdog, &err), &err);
	return watchdog;
}

static struct watchdog_sample sample(struct watchdog *watchdog)
{
	struct watchdog_sample sample = {0};
	struct error err = {0};

	(void)usleep(11000); /* older than the statistics may be */
	harness_ok(watchdog_sample(watchdog, &sample, &err), &err);
	return sample;
}

Test(descent, a_watchdog_counts_the_tree_alone)
{
	struct scene scene = scene_open();
	struct watchdog *watchdog = watch(&scene);

	cr_expect_eq(sample(watchdog).processes, MEMBERS + 1); /* one has a thread that has ended, and counts as two */
	cr_assert_eq(kill(scene.members[0], SIGKILL), 0);
	while (sample(watchdog).processes > MEMBERS) /* until it is reaped */
		;
	(void)watchdog_free(watchdog);
	scene_close(&scene);
}

Test(descent, a_watchdog_ends_a_tree_that_has_lost_its_root)
{
	struct scene scene = scene_open();
	struct watchdog *watchdog = watch(&scene);

	(void)sample(watchdog);
	cr_assert_eq(sys_pidfd_send_signal(scene.pidfd, SIGKILL), 0);
	cr_assert_eq(waitid(P_PIDFD, (id_t)scene.pidfd, &(siginfo_t){0}, WEXITED), 0);
	(void)sample(watchdog); /* a look that finds nobody forgets nobody */
	watchdog_kill(watchdog);
	for (size_t i = 0; i < MEMBERS; i++)
		cr_expect_not(lives(scene.members[i]), "member %zu lives", i);
	(void)watchdog_free(watchdog);
	scene_close(&scene);
}
