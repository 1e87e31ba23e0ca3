/* What is told of renamed directories, with inotify and without. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotime.h"
#include "runtime/supervise/moves.h"
#include "tests/unit/harness.h"

TestSuite(moves, .fini = harness_leak_check, .timeout = 60);

/* a/b, of which both are ancestors of something. */
struct scene {
	char path[64], a[80], b[80];
	int dirfd;
	const char *ancestors[2];
	struct plan plan;
	struct loop *loop;
	struct watcher *watcher;
	struct moves moves;
};

static void set_scene(struct scene *scene)
{
	struct error err = {0};

	*scene = (struct scene){.moves = MOVES_INIT};
	scene->dirfd = harness_tmpdir(scene->path, sizeof scene->path);
	(void)snprintf(scene->a, sizeof scene->a, "%s/a", scene->path);
	(void)snprintf(scene->b, sizeof scene->b, "%s/a/b", scene->path);
	cr_assert_eq(mkdir(scene->a, 0755), 0);
	cr_assert_eq(mkdir(scene->b, 0755), 0);
	scene->ancestors[0] = scene->a;
	scene->ancestors[1] = scene->b;
	scene->plan = (struct plan){.ancestors = scene->ancestors, .n_ancestors = 2};
	harness_ok(loop_new(&scene->loop, &err), &err);
	harness_ok(watcher_new(scene->loop, &scene->watcher, &err), &err);
}

static void start(struct scene *scene)
{
	struct error err = {0};

	harness_ok(moves_start(&scene->moves, &scene->plan, scene->watcher, scene->loop, &err), &err);
}

static void strike_scene(struct scene *scene)
{
	moves_stop(&scene->moves);
	scene->watcher = watcher_free(scene->watcher);
	scene->loop = loop_free(scene->loop);
	(void)close(scene->dirfd);
	harness_rm_tree(scene->path);
}

static bool is_told(struct scene *scene, int timeout_ms)
{
	struct error err = {0};
	bool seen = false;

	harness_ok(loop_dispatch(scene->loop, timeout_ms, &err), &err);
	harness_ok(moves_take(&scene->moves, &seen, &err), &err);
	return seen;
}

Test(moves, a_renamed_directory_is_told_once)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	cr_expect(!is_told(&scene, 0));
	cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, "z"), 0);
	cr_expect(is_told(&scene, 1000));
	strike_scene(&scene);
}

static bool looks_moved(struct scene *scene)
{
	struct error err = {0};
	bool seen = false;

	harness_ok(moves_look(&scene->moves, &seen, &err), &err);
	return seen;
}

Test(moves, a_run_that_ends_before_the_watch_looks_by_itself)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	cr_expect(!looks_moved(&scene));
	cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, "z"), 0);
	cr_assert_eq(mkdirat(scene.dirfd, "a", 0755), 0);
	cr_expect(looks_moved(&scene));
	cr_expect(!looks_moved(&scene), "told twice");
	strike_scene(&scene);
}

Test(moves, what_is_watched_already_needs_no_last_look)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	cr_expect(!is_told(&scene, 200)); /* the first watch */
	cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, "z"), 0);
	cr_expect(!looks_moved(&scene));
	cr_expect(is_told(&scene, 1000));
	strike_scene(&scene);
}

Test(moves, what_takes_its_place_is_watched_too)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "z%d", i);
		cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, name), 0);
		cr_assert_eq(mkdir(scene.a, 0755), 0);
		cr_assert_eq(mkdir(scene.b, 0755), 0);
		cr_expect(is_told(&scene, 1000), "the %d. time", i + 1);
		cr_expect(!is_told(&scene, 0));
	}
	cr_assert_eq(renameat(scene.dirfd, "a/b", scene.dirfd, "a/c"), 0);
	cr_expect(is_told(&scene, 1000));
	strike_scene(&scene);
}

Test(moves, nothing_else_is_told)
{
	struct scene scene;

	set_scene(&scene);
	start(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "a/b/c", 0755), 0);
	cr_assert_eq(renameat(scene.dirfd, "a/b/c", scene.dirfd, "a/d"), 0);
	cr_assert_eq(unlinkat(scene.dirfd, "a/d", AT_REMOVEDIR), 0);
	cr_expect(!is_told(&scene, 20));
	strike_scene(&scene);
}

static void expect_regular_looks(struct scene *scene)
{
	unsigned looks = 0;
	uint64_t end_ns;

	start(scene);
	for (end_ns = monotime_after_ns(NS_PER_S); looks < 2 && monotime_ns() < end_ns;)
		looks += is_told(scene, 200);
	cr_expect_eq(looks, 2);
	strike_scene(scene);
}

Test(moves, what_cannot_be_watched_is_looked_at)
{
	struct scene scene;

	set_scene(&scene);
	scene.ancestors[1] = "/nowhere";
	expect_regular_looks(&scene);
}

Test(moves, without_inotify_it_is_looked_at)
{
	struct rlimit none = {0, 0};
	struct rlimit before;
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	scene.watcher = watcher_free(scene.watcher);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	harness_ok(watcher_new(scene.loop, &scene.watcher, &err), &err);
	cr_expect(!watcher_add(scene.watcher, scene.dirfd, 1));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_regular_looks(&scene);
}

Test(moves, what_appears_is_told_wherever_its_path_ends_now)
{
	struct scene scene;
	const char *late;
	char path[160];

	set_scene(&scene);
	(void)snprintf(path, sizeof path, "%s/c/d/e", scene.b);
	late = path;
	scene.plan.n_ancestors = 0;
	scene.plan.late = &late;
	scene.plan.n_late = 1;
	start(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "a/b/other", 0755), 0);
	cr_assert_eq(mkdirat(scene.dirfd, "a/b/c", 0755), 0);
	cr_expect(!is_told(&scene, 1000));
	cr_assert_eq(mkdirat(scene.dirfd, "a/b/c/d", 0755), 0);
	cr_expect(!is_told(&scene, 1000));
	cr_assert_eq(mkdirat(scene.dirfd, "a/b/c/d/e", 0755), 0);
	cr_expect(is_told(&scene, 1000));
	strike_scene(&scene);
}

Test(moves, what_appears_as_a_whole_is_told)
{
	struct scene scene;
	const char *late;
	char path[160];

	set_scene(&scene);
	(void)snprintf(path, sizeof path, "%s/c/d/e", scene.path);
	late = path;
	scene.plan.late = &late;
	scene.plan.n_late = 1;
	start(&scene);
	cr_assert_eq(mkdirat(scene.dirfd, "a/d", 0755), 0);
	cr_assert_eq(mkdirat(scene.dirfd, "a/d/e", 0755), 0);
	cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, "c"), 0);
	cr_expect(is_told(&scene, 1000));
	strike_scene(&scene);
}

Test(moves, a_plan_without_masks_needs_none)
{
	struct scene scene;

	set_scene(&scene);
	scene.plan.n_ancestors = 0;
	start(&scene);
	cr_assert_eq(renameat(scene.dirfd, "a", scene.dirfd, "z"), 0);
	cr_expect(!is_told(&scene, 20));
	strike_scene(&scene);
}
