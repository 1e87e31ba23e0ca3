#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "tests/unit/guard_scene.h"
#include "tests/unit/harness.h"

TestSuite(guard, .fini = harness_leak_check, .timeout = 60);

Test(guard, a_plan_without_guards_needs_none)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	scene.plan.n_guards = 0;
	harness_ok(scene_try_start(&scene, &err), &err);
	cr_expect_null(scene.guard);
	harness_ok(guard_finish(scene.guard, &err), &err);
	scene_strike(&scene);
}

Test(guard, leaves_everything_else_alone)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	scene_start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, ".git", 0755), 0);
	scene_put_file(scene.wsfd, ".git/hooks-are-not-here");
	scene_put_file(scene.wsfd, "x");
	for (int i = 0; i < 5; i++)
		harness_ok(loop_dispatch(scene.loop, 10, &err), &err);
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(scene_has(scene.wsfd, ".git/hooks-are-not-here"));
	cr_expect(scene_has(scene.wsfd, "x"));
	cr_expect_eq(scene.violations.n, 0);
	scene_strike(&scene);
}

static void plant_everywhere(struct scene *scene)
{
	scene_put_file(scene->wsfd, ".envrc");
	scene_expect_removal(scene, ".envrc");
	scene_expect_violation(scene, ".envrc", "removed");

	cr_assert_eq(mkdirat(scene->wsfd, ".git", 0755), 0);
	cr_assert_eq(mkdirat(scene->wsfd, ".git/hooks", 0755), 0);
	scene_put_file(scene->wsfd, ".git/hooks/post-checkout");
	scene_expect_removal(scene, ".git/hooks");
	scene_expect_violation(scene, ".git/hooks", "removed");
	cr_expect(scene_has(scene->wsfd, ".git"));

	scene_put_file(scene->wsfd, "a");
	scene_expect_removal(scene, "a");
	scene_expect_violation(scene, "a", "removed");
	cr_expect_eq(scene->told, 3);
}

Test(guard, removes_what_is_planted)
{
	struct scene scene;

	scene_set(&scene);
	scene_start(&scene);
	plant_everywhere(&scene);
	scene_strike(&scene);
}

static void refuse_inotify(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_inotify_init1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

Test(guard, removes_what_is_planted_without_inotify)
{
	struct scene scene;

	refuse_inotify();
	scene_set(&scene);
	scene_start(&scene);
	plant_everywhere(&scene);
	scene_strike(&scene);
}

Test(guard, removes_a_link_and_not_where_it_leads)
{
	struct scene scene;

	scene_set(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "elsewhere", 0755), 0);
	cr_assert_eq(mkdirat(scene.dirfd, "elsewhere/hooks", 0755), 0);
	scene_put_file(scene.dirfd, "elsewhere/hooks/precious");
	scene_start(&scene);
	cr_assert_eq(symlinkat("../elsewhere", scene.wsfd, ".git"), 0);
	scene_expect_removal(&scene, ".git");
	scene_expect_violation(&scene, ".git", "removed");
	cr_assert_eq(mkdirat(scene.wsfd, ".git", 0755), 0);
	cr_assert_eq(symlinkat("../../elsewhere/hooks", scene.wsfd, ".git/hooks"), 0);
	scene_expect_removal(&scene, ".git/hooks");
	cr_expect(scene_has(scene.dirfd, "elsewhere/hooks/precious"));
	scene_strike(&scene);
}

Test(guard, removes_a_tree_that_resists)
{
	struct scene scene;
	char name[64];

	scene_set(&scene);
	scene_put_file(scene.dirfd, "precious");
	scene_start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "a", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b/c", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b/c/deep", 0755), 0);
	cr_assert_eq(symlinkat("../../../../../precious", scene.wsfd, "a/b/c/deep/link"), 0);
	for (int i = 0; i < 6000; i++) { /* more than one look removes */
		(void)snprintf(name, sizeof name, "a/b/c/deep/%d", i);
		scene_put_file(scene.wsfd, name);
	}
	cr_assert_eq(fchmodat(scene.wsfd, "a/b/c/deep", 0, 0), 0);
	cr_assert_eq(fchmodat(scene.wsfd, "a/b/c", 0500, 0), 0);
	scene_expect_removal(&scene, "a/b/c");
	scene_expect_violation(&scene, "a/b/c", "removed");
	cr_expect_eq(scene.violations.n, 1);
	cr_expect(scene_has(scene.dirfd, "precious"));
	scene_strike(&scene);
}

Test(guard, the_last_look_needs_no_event)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	scene_start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "a", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b", 0755), 0);
	scene_put_file(scene.wsfd, "a/b/c");
	scene_put_file(scene.wsfd, ".envrc");
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_not(scene_has(scene.wsfd, "a/b/c"));
	cr_expect_not(scene_has(scene.wsfd, ".envrc"));
	cr_expect_eq(scene.violations.n, 2);
	scene_strike(&scene);
}

Test(guard, never_removes_what_was_there_before)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	scene_put_file(scene.wsfd, ".envrc");
	cr_expect_eq(scene_try_start(&scene, &err), -1);
	cr_expect_eq(err.code, ERROR_UNENFORCEABLE);
	cr_expect_eq(err.retryable, ERROR_RETRY_YES);
	cr_expect(scene_has(scene.wsfd, ".envrc"));
	scene_strike(&scene);
}

Test(guard, reports_each_name_once)
{
	struct scene scene;

	scene_set(&scene);
	scene_start(&scene);
	for (int i = 0; i < 20; i++) {
		scene_put_file(scene.wsfd, ".envrc");
		scene_expect_removal(&scene, ".envrc");
	}
	cr_expect_eq(scene.violations.n, 1);
	cr_expect_eq(scene.told, 1);
	scene_strike(&scene);
}

static void make_deep(int dirfd, const char *name, unsigned levels)
{
	int fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);

	for (unsigned i = 0; i < levels; i++) {
		int next;

		cr_assert_eq(mkdirat(fd, name, 0755), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(next, 0);
		fd_close(fd);
		fd = next;
		name = "d";
	}
	scene_put_file(fd, "file");
	fd_close(fd);
}

static int count_entries(int dirfd)
{
	DIR *dir = fdopendir(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	cr_assert_not_null(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n - 2;
}

Test(guard, a_tree_of_any_depth_goes)
{
	struct scene scene;

	scene_set(&scene);
	scene_start(&scene);
	make_deep(scene.wsfd, ".envrc", 400);
	scene_expect_removal(&scene, ".envrc");
	scene_expect_violation(&scene, ".envrc", "removed");
	cr_expect_eq(count_entries(scene.wsfd), 0);
	cr_expect_eq(scene.lost, 0);
	scene_strike(&scene);
}

Test(guard, a_deep_tree_goes_at_the_last_look)
{
	struct scene scene;
	struct error err = {0};

	scene_set(&scene);
	scene_start(&scene);
	make_deep(scene.wsfd, ".envrc", 400);
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_eq(count_entries(scene.wsfd), 0);
	cr_expect(scene_has_violation(&scene, ".envrc", "removed"));
	scene_strike(&scene);
}

/* The command of a run that root started is somebody else on the disk. */
static void set_scene_of(struct scene *scene, uid_t owner)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	scene_set(scene);
	scene->plan.identity = (struct plan_identity){.mapped = true, .workspace_uid = owner, .workspace_gid = owner};
	cr_assert_eq(fchown(scene->wsfd, owner, owner), 0);
}

/* More names than there are in three budgets. */
Test(guard, a_wide_tree_goes_at_the_last_look)
{
	struct scene scene;
	struct error err = {0};
	char name[32];

	scene_set(&scene);
	scene_start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, ".envrc", 0755), 0);
	scene_put_file(scene.wsfd, "x");
	for (int i = 0; i < 60000; i++) {
		(void)snprintf(name, sizeof name, ".envrc/%d", i);
		cr_assert_eq(linkat(scene.wsfd, "x", scene.wsfd, name, 0), 0);
	}
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(scene_has_violation(&scene, ".envrc", "removed"));
	scene_strike(&scene);
}

Test(guard, what_is_of_others_is_set_aside)
{
	struct scene scene;
	struct error err = {0};
	const char *left;

	set_scene_of(&scene, 4711);
	scene_start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "new", 0755), 0);
	cr_assert_eq(fchownat(scene.wsfd, "new", 4711, 4711, 0), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "new/other", 0755), 0);
	scene_put_file(scene.wsfd, "new/other/precious"); /* root's */
	cr_assert_eq(renameat(scene.wsfd, "new", scene.wsfd, ".envrc"), 0);
	scene_expect_removal(&scene, ".envrc");
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_eq(scene.lost, 0);
	cr_expect(scene_has_violation(&scene, ".envrc", "set_aside"));
	cr_assert_eq(scene.violations.n, 2);
	cr_expect_str_eq(scene.violations.list[1].kind, "left_behind");
	left = arena_printf(scene.arena, "%s/other/precious", scene.violations.list[1].path);
	cr_expect(scene_has(scene.wsfd, left), "%s", left);
	cr_expect_eq(geteuid(), 0);
	scene_strike(&scene);
}

Test(guard, what_cannot_be_renamed_ends_the_run)
{
	struct scene scene;
	struct error err = {0};

	set_scene_of(&scene, 4711);
	scene_start(&scene);
	cr_assert_eq(fchown(scene.wsfd, 0, 0), 0); /* the owner that the plan knows may do nothing here */
	cr_assert_eq(mkdirat(scene.wsfd, ".envrc", 0755), 0);
	scene_put_file(scene.wsfd, ".envrc/file");
	scene_expect_violation(&scene, ".envrc", "killed");
	cr_expect_gt(scene.lost, 0);
	cr_expect_eq(scene.why.code, ERROR_UNENFORCEABLE);
	cr_expect_not_null(strstr(scene.why.text, ".envrc"));
	scene.lost = 0;
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(scene_has_violation(&scene, ".envrc", "none"));
	cr_expect_eq(scene.lost, 1);
	cr_expect(scene_has(scene.wsfd, ".envrc/file"));
	scene_strike(&scene);
}

Test(guard, a_replaced_link_is_put_back)
{
	struct scene scene;
	char target[64] = "";

	scene_set(&scene);
	scene.guards[1].link = "elsewhere";
	cr_assert_eq(symlinkat("elsewhere", scene.wsfd, ".envrc"), 0);
	scene_start(&scene);
	cr_assert_eq(unlinkat(scene.wsfd, ".envrc", 0), 0);
	make_deep(scene.wsfd, ".envrc", 200);
	while (readlinkat(scene.wsfd, ".envrc", target, sizeof target - 1) < 0)
		harness_ok(loop_dispatch(scene.loop, 20, &scene.why), &scene.why);
	cr_expect_str_eq(target, "elsewhere");
	cr_expect_eq(scene.lost, 0);
	cr_assert_gt(scene.violations.n, 0);
	cr_expect_str_eq(scene.violations.list[0].kind, "link_replaced");
	cr_expect_str_eq(scene.violations.list[0].action, "restored");
	scene_strike(&scene);
}

static void expect_refusal(struct scene *scene)
{
	struct error err = {0};

	cr_expect_eq(scene_try_start(scene, &err), -1);
	cr_expect_eq(err.code, ERROR_UNENFORCEABLE);
	cr_expect_eq(err.retryable, ERROR_RETRY_YES);
}

Test(guard, watches_only_what_will_be_mounted)
{
	struct scene scene;

	scene_set(&scene);
	cr_assert_eq(renameat(scene.dirfd, "ws", scene.dirfd, "moved"), 0);
	expect_refusal(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "ws", 0755), 0);
	expect_refusal(&scene);
	cr_assert_eq(unlinkat(scene.dirfd, "ws", AT_REMOVEDIR), 0);
	cr_assert_eq(symlinkat("moved", scene.dirfd, "ws"), 0);
	expect_refusal(&scene);
	scene_strike(&scene);
}
