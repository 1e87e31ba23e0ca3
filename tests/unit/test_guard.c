#include <criterion/criterion.h>
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
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/supervise/guard.h"
#include "runtime/supervise/removal.h"
#include "tests/unit/harness.h"

TestSuite(guard, .fini = harness_leak_check, .timeout = 60);

/* A workspace in which .git/hooks, .envrc and a/b/c are guarded, and a file beside it that nobody may touch. */
struct scene {
	char path[64], workspace[80];
	int dirfd, wsfd;
	struct plan_guard guards[3];
	struct plan plan;
	struct loop *loop;
	struct arena *arena;
	struct violations violations;
	struct guard *guard;
	int told;
};

static int on_added(void *userdata, const struct outcome_violation *violation, struct error *err)
{
	struct scene *scene = userdata;

	(void)err;
	cr_expect_not_null(violation->path);
	scene->told++;
	return 0;
}

static void set_scene(struct scene *scene)
{
	static const char *const guarded[3] = {".git/hooks", ".envrc", "a/b/c"};
	struct error err = {0};

	memset(scene, 0, sizeof *scene);
	scene->dirfd = harness_tmpdir(scene->path, sizeof scene->path);
	cr_assert_eq(mkdirat(scene->dirfd, "ws", 0755), 0);
	scene->wsfd = openat(scene->dirfd, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(scene->wsfd, 0);
	(void)snprintf(scene->workspace, sizeof scene->workspace, "%s/ws", scene->path);
	for (size_t i = 0; i < 3; i++)
		scene->guards[i] = (struct plan_guard){scene->workspace, guarded[i]};
	scene->plan = (struct plan){.workspace = scene->workspace, .guards = scene->guards, .n_guards = 3};
	harness_ok(loop_new(&scene->loop, &err), &err);
	harness_ok(arena_new(&scene->arena, &err), &err);
	scene->violations = (struct violations){.arena = scene->arena, .added = on_added, .userdata = scene};
}

static void start(struct scene *scene)
{
	struct error err = {0};

	harness_ok(guard_new(&scene->plan, scene->loop, &scene->violations, &scene->guard, &err), &err);
	cr_assert_not_null(scene->guard);
}

static void strike_scene(struct scene *scene)
{
	scene->guard = guard_free(scene->guard);
	scene->loop = loop_free(scene->loop);
	scene->arena = arena_free(scene->arena);
	fd_close(scene->wsfd);
	fd_close(scene->dirfd);
	harness_rm_tree(scene->path);
}

static void put_file(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	fd_close(fd);
}

static bool exists(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Dispatches until the name is gone; the test's time-out is the other end. */
static void expect_removal(struct scene *scene, const char *path)
{
	struct error err = {0};

	while (exists(scene->wsfd, path))
		harness_ok(loop_dispatch(scene->loop, 20, &err), &err);
}

static void expect_violation(struct scene *scene, const char *path, const char *action)
{
	for (size_t i = 0; i < scene->violations.n; i++) {
		const struct outcome_violation *v = &scene->violations.list[i];

		if (strcmp(v->path, path) == 0 && strcmp(v->action, action) == 0 && strcmp(v->kind, "planted") == 0)
			return;
	}
	cr_expect_fail("no violation of %s, %s", path, action);
}

Test(guard, a_plan_without_guards_needs_none)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	scene.plan.n_guards = 0;
	harness_ok(guard_new(&scene.plan, scene.loop, &scene.violations, &scene.guard, &err), &err);
	cr_expect_null(scene.guard);
	harness_ok(guard_finish(scene.guard, &err), &err);
	strike_scene(&scene);
}

Test(guard, leaves_everything_else_alone)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, ".git", 0755), 0);
	put_file(scene.wsfd, ".git/hooks-are-not-here");
	put_file(scene.wsfd, "x");
	for (int i = 0; i < 5; i++)
		harness_ok(loop_dispatch(scene.loop, 10, &err), &err);
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(exists(scene.wsfd, ".git/hooks-are-not-here"));
	cr_expect(exists(scene.wsfd, "x"));
	cr_expect_eq(scene.violations.n, 0);
	strike_scene(&scene);
}

static void plant_everywhere(struct scene *scene)
{
	put_file(scene->wsfd, ".envrc");
	expect_removal(scene, ".envrc");
	expect_violation(scene, ".envrc", "removed");

	cr_assert_eq(mkdirat(scene->wsfd, ".git", 0755), 0);
	cr_assert_eq(mkdirat(scene->wsfd, ".git/hooks", 0755), 0);
	put_file(scene->wsfd, ".git/hooks/post-checkout");
	expect_removal(scene, ".git/hooks");
	expect_violation(scene, ".git/hooks", "removed");
	cr_expect(exists(scene->wsfd, ".git"));

	put_file(scene->wsfd, "a");
	expect_removal(scene, "a");
	expect_violation(scene, "a", "removed");
	cr_expect_eq(scene->told, 3);
}

Test(guard, removes_what_is_planted)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	plant_everywhere(&scene);
	strike_scene(&scene);
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
	set_scene(&scene);
	start(&scene);
	plant_everywhere(&scene);
	strike_scene(&scene);
}

Test(guard, removes_a_link_and_not_where_it_leads)
{
	struct scene scene;

	set_scene(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "elsewhere", 0755), 0);
	cr_assert_eq(mkdirat(scene.dirfd, "elsewhere/hooks", 0755), 0);
	put_file(scene.dirfd, "elsewhere/hooks/precious");
	start(&scene);
	cr_assert_eq(symlinkat("../elsewhere", scene.wsfd, ".git"), 0);
	expect_removal(&scene, ".git");
	expect_violation(&scene, ".git", "removed");
	cr_assert_eq(mkdirat(scene.wsfd, ".git", 0755), 0);
	cr_assert_eq(symlinkat("../../elsewhere/hooks", scene.wsfd, ".git/hooks"), 0);
	expect_removal(&scene, ".git/hooks");
	cr_expect(exists(scene.dirfd, "elsewhere/hooks/precious"));
	strike_scene(&scene);
}

Test(guard, removes_a_tree_that_resists)
{
	struct scene scene;
	char name[64];

	set_scene(&scene);
	put_file(scene.dirfd, "precious");
	start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "a", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b/c", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b/c/deep", 0755), 0);
	cr_assert_eq(symlinkat("../../../../../precious", scene.wsfd, "a/b/c/deep/link"), 0);
	for (int i = 0; i < 6000; i++) { /* more than one look removes */
		(void)snprintf(name, sizeof name, "a/b/c/deep/%d", i);
		put_file(scene.wsfd, name);
	}
	cr_assert_eq(fchmodat(scene.wsfd, "a/b/c/deep", 0, 0), 0);
	cr_assert_eq(fchmodat(scene.wsfd, "a/b/c", 0500, 0), 0);
	expect_removal(&scene, "a/b/c");
	expect_violation(&scene, "a/b/c", "removed");
	cr_expect_eq(scene.violations.n, 1);
	cr_expect(exists(scene.dirfd, "precious"));
	strike_scene(&scene);
}

Test(guard, the_last_look_needs_no_event)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "a", 0755), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "a/b", 0755), 0);
	put_file(scene.wsfd, "a/b/c");
	put_file(scene.wsfd, ".envrc");
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_not(exists(scene.wsfd, "a/b/c"));
	cr_expect_not(exists(scene.wsfd, ".envrc"));
	cr_expect_eq(scene.violations.n, 2);
	strike_scene(&scene);
}

Test(guard, never_removes_what_was_there_before)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	put_file(scene.wsfd, ".envrc");
	cr_expect_eq(guard_new(&scene.plan, scene.loop, &scene.violations, &scene.guard, &err), -1);
	cr_expect_eq(err.code, ERROR_UNENFORCEABLE);
	cr_expect_eq(err.retryable, ERROR_RETRY_YES);
	cr_expect(exists(scene.wsfd, ".envrc"));
	strike_scene(&scene);
}

Test(guard, reports_each_name_once)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	for (int i = 0; i < 20; i++) {
		put_file(scene.wsfd, ".envrc");
		expect_removal(&scene, ".envrc");
	}
	cr_expect_eq(scene.violations.n, 1);
	cr_expect_eq(scene.told, 1);
	strike_scene(&scene);
}

Test(guard, a_removal_keeps_to_its_budget)
{
	char path[64], name[32];
	int dirfd = harness_tmpdir(path, sizeof path);
	size_t budget = 50;

	cr_assert_eq(mkdirat(dirfd, "d", 0755), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "d/%d", i);
		put_file(dirfd, name);
	}
	cr_expect_eq(removal_remove(dirfd, "d", &budget), REMOVAL_UNFINISHED);
	cr_expect_eq(budget, 0);
	budget = 1000;
	cr_expect_eq(removal_remove(dirfd, "d", &budget), REMOVAL_DONE);
	cr_expect_gt(budget, 900 - 4);
	cr_expect_eq(removal_remove(dirfd, "d", &budget), REMOVAL_DONE, "what is not there is removed");
	fd_close(dirfd);
	harness_rm_tree(path);
}
