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
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/supervise/guard.h"
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
	int told, lost;
	struct error why;
};

static int on_added(void *userdata, const struct outcome_violation *violation, struct error *err)
{
	struct scene *scene = userdata;

	(void)err;
	cr_expect_not_null(violation->path);
	scene->told++;
	return 0;
}

static int on_lost(void *userdata, const struct error *why, struct error *err)
{
	struct scene *scene = userdata;

	(void)err;
	scene->lost++;
	scene->why = *why;
	return 0;
}

static void set_scene(struct scene *scene)
{
	static const char *const guarded[3] = {".git/hooks", ".envrc", "a/b/c"};
	struct error err = {0};
	struct stat st;

	memset(scene, 0, sizeof *scene);
	scene->dirfd = harness_tmpdir(scene->path, sizeof scene->path);
	cr_assert_eq(mkdirat(scene->dirfd, "ws", 0755), 0);
	scene->wsfd = openat(scene->dirfd, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(scene->wsfd, 0);
	(void)snprintf(scene->workspace, sizeof scene->workspace, "%s/ws", scene->path);
	cr_assert_eq(fstat(scene->wsfd, &st), 0);
	for (size_t i = 0; i < 3; i++)
		scene->guards[i] = (struct plan_guard){
			.root = scene->workspace, .relative = guarded[i], .device = st.st_dev, .inode = st.st_ino};
	scene->plan = (struct plan){.workspace = scene->workspace, .guards = scene->guards, .n_guards = 3};
	harness_ok(loop_new(&scene->loop, &err), &err);
	harness_ok(arena_new(&scene->arena, &err), &err);
	scene->violations = (struct violations){.arena = scene->arena, .added = on_added, .userdata = scene};
}

static int try_start(struct scene *scene, struct error *err)
{
	const struct guard_hooks hooks = {on_lost, scene};

	return guard_new(&scene->plan, scene->loop, &scene->violations, &hooks, &scene->guard, err);
}

static void start(struct scene *scene)
{
	struct error err = {0};

	harness_ok(try_start(scene, &err), &err);
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

static bool has_violation(const struct scene *scene, const char *path, const char *action)
{
	for (size_t i = 0; i < scene->violations.n; i++) {
		const struct outcome_violation *v = &scene->violations.list[i];

		if (strcmp(v->path, path) == 0 && strcmp(v->action, action) == 0 && strcmp(v->kind, "planted") == 0)
			return true;
	}
	return false;
}

/* A tree is told when it is deleted; the test's time-out is the other end. */
static void expect_violation(struct scene *scene, const char *path, const char *action)
{
	struct error err = {0};

	while (!has_violation(scene, path, action))
		harness_ok(loop_dispatch(scene->loop, 20, &err), &err);
}

Test(guard, a_plan_without_guards_needs_none)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	scene.plan.n_guards = 0;
	harness_ok(try_start(&scene, &err), &err);
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
	cr_expect_eq(try_start(&scene, &err), -1);
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
	put_file(fd, "file");
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

	set_scene(&scene);
	start(&scene);
	make_deep(scene.wsfd, ".envrc", 400);
	expect_removal(&scene, ".envrc");
	expect_violation(&scene, ".envrc", "removed");
	cr_expect_eq(count_entries(scene.wsfd), 0);
	cr_expect_eq(scene.lost, 0);
	strike_scene(&scene);
}

Test(guard, a_deep_tree_goes_at_the_last_look)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	start(&scene);
	make_deep(scene.wsfd, ".envrc", 400);
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_eq(count_entries(scene.wsfd), 0);
	cr_expect(has_violation(&scene, ".envrc", "removed"));
	strike_scene(&scene);
}

/* The command of a run that root started is somebody else on the disk. */
static void set_scene_of(struct scene *scene, uid_t owner)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	set_scene(scene);
	scene->plan.identity = (struct plan_identity){.mapped = true, .workspace_uid = owner, .workspace_gid = owner};
	cr_assert_eq(fchown(scene->wsfd, owner, owner), 0);
}

Test(guard, what_is_of_others_is_set_aside)
{
	struct scene scene;
	struct error err = {0};
	const char *left;

	set_scene_of(&scene, 4711);
	start(&scene);
	cr_assert_eq(mkdirat(scene.wsfd, "new", 0755), 0);
	cr_assert_eq(fchownat(scene.wsfd, "new", 4711, 4711, 0), 0);
	cr_assert_eq(mkdirat(scene.wsfd, "new/other", 0755), 0);
	put_file(scene.wsfd, "new/other/precious"); /* root's */
	cr_assert_eq(renameat(scene.wsfd, "new", scene.wsfd, ".envrc"), 0);
	expect_removal(&scene, ".envrc");
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect_eq(scene.lost, 0);
	cr_expect(has_violation(&scene, ".envrc", "set_aside"));
	cr_assert_eq(scene.violations.n, 2);
	cr_expect_str_eq(scene.violations.list[1].kind, "left_behind");
	left = arena_printf(scene.arena, "%s/other/precious", scene.violations.list[1].path);
	cr_expect(exists(scene.wsfd, left), "%s", left);
	cr_expect_eq(geteuid(), 0);
	strike_scene(&scene);
}

Test(guard, what_cannot_be_renamed_ends_the_run)
{
	struct scene scene;
	struct error err = {0};

	set_scene_of(&scene, 4711);
	start(&scene);
	cr_assert_eq(fchown(scene.wsfd, 0, 0), 0); /* the owner that the plan knows may do nothing here */
	cr_assert_eq(mkdirat(scene.wsfd, ".envrc", 0755), 0);
	put_file(scene.wsfd, ".envrc/file");
	expect_violation(&scene, ".envrc", "killed");
	cr_expect_gt(scene.lost, 0);
	cr_expect_eq(scene.why.code, ERROR_UNENFORCEABLE);
	cr_expect_not_null(strstr(scene.why.text, ".envrc"));
	scene.lost = 0;
	harness_ok(guard_finish(scene.guard, &err), &err);
	cr_expect(has_violation(&scene, ".envrc", "none"));
	cr_expect_eq(scene.lost, 1);
	cr_expect(exists(scene.wsfd, ".envrc/file"));
	strike_scene(&scene);
}

Test(guard, a_replaced_link_is_put_back)
{
	struct scene scene;
	char target[64] = "";

	set_scene(&scene);
	scene.guards[1].link = "elsewhere";
	cr_assert_eq(symlinkat("elsewhere", scene.wsfd, ".envrc"), 0);
	start(&scene);
	cr_assert_eq(unlinkat(scene.wsfd, ".envrc", 0), 0);
	make_deep(scene.wsfd, ".envrc", 200);
	while (readlinkat(scene.wsfd, ".envrc", target, sizeof target - 1) < 0)
		harness_ok(loop_dispatch(scene.loop, 20, &scene.why), &scene.why);
	cr_expect_str_eq(target, "elsewhere");
	cr_expect_eq(scene.lost, 0);
	cr_assert_gt(scene.violations.n, 0);
	cr_expect_str_eq(scene.violations.list[0].kind, "link_replaced");
	cr_expect_str_eq(scene.violations.list[0].action, "restored");
	strike_scene(&scene);
}

static void expect_refusal(struct scene *scene)
{
	struct error err = {0};

	cr_expect_eq(try_start(scene, &err), -1);
	cr_expect_eq(err.code, ERROR_UNENFORCEABLE);
	cr_expect_eq(err.retryable, ERROR_RETRY_YES);
}

Test(guard, watches_only_what_will_be_mounted)
{
	struct scene scene;

	set_scene(&scene);
	cr_assert_eq(renameat(scene.dirfd, "ws", scene.dirfd, "moved"), 0);
	expect_refusal(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "ws", 0755), 0);
	expect_refusal(&scene);
	cr_assert_eq(unlinkat(scene.dirfd, "ws", AT_REMOVEDIR), 0);
	cr_assert_eq(symlinkat("moved", scene.dirfd, "ws"), 0);
	expect_refusal(&scene);
	strike_scene(&scene);
}
