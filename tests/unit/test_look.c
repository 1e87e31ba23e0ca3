/* What is asked once and remembered, and where the remembering ends. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/plan/look.h"
#include "tests/unit/harness.h"

TestSuite(look, .fini = harness_leak_check);

struct scene {
	char path[64];
	int dirfd;
	struct arena *arena;
	struct looks looks;
};

static void set_scene(struct scene *scene)
{
	struct error err = {0};

	*scene = (struct scene){0};
	scene->dirfd = harness_tmpdir(scene->path, sizeof scene->path);
	harness_ok(arena_new(&scene->arena, &err), &err);
}

static void strike_scene(struct scene *scene)
{
	scene->arena = arena_free(scene->arena);
	(void)close(scene->dirfd);
	harness_rm_tree(scene->path);
}

static int look(struct scene *scene, const char *name, struct stat *ret_st)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", scene->path, name);
	return look_lstat(&scene->looks, scene->arena, path, ret_st);
}

Test(look, each_path_is_asked_for_once)
{
	struct scene scene;
	struct stat st;

	set_scene(&scene);
	cr_expect_eq(look(&scene, "a", &st), -1);
	cr_expect_eq(errno, ENOENT);
	cr_assert_eq(mkdirat(scene.dirfd, "a", 0700), 0);
	errno = 0;
	cr_expect_eq(look(&scene, "a", &st), -1, "what was absent stays so");
	cr_expect_eq(errno, ENOENT, "and its reason with it");
	cr_assert_eq(mkdirat(scene.dirfd, "b", 0700), 0);
	cr_assert_eq(look(&scene, "b", &st), 0);
	cr_assert_eq(unlinkat(scene.dirfd, "b", AT_REMOVEDIR), 0);
	st = (struct stat){0};
	cr_expect_eq(look(&scene, "b", &st), 0);
	cr_expect(S_ISDIR(st.st_mode));
	strike_scene(&scene);
}

Test(look, a_link_is_followed_only_by_stat)
{
	struct scene scene;
	char path[128];
	struct stat st;

	set_scene(&scene);
	cr_assert_eq(symlinkat("/", scene.dirfd, "link"), 0);
	cr_assert_eq(symlinkat("nowhere", scene.dirfd, "dangling"), 0);
	cr_assert_eq(look(&scene, "link", &st), 0);
	cr_expect(S_ISLNK(st.st_mode));
	(void)snprintf(path, sizeof path, "%s/link", scene.path);
	cr_assert_eq(look_stat(&scene.looks, scene.arena, path, &st), 0);
	cr_expect(S_ISDIR(st.st_mode));
	(void)snprintf(path, sizeof path, "%s/dangling", scene.path);
	cr_expect_eq(look_stat(&scene.looks, scene.arena, path, &st), -1);
	cr_expect_eq(errno, ENOENT);
	strike_scene(&scene);
}

Test(look, beyond_the_bound_nothing_is_kept)
{
	struct scene scene;
	struct stat st;
	char name[32];

	set_scene(&scene);
	for (int i = 0; i < LOOKS_MAX; i++) {
		(void)snprintf(name, sizeof name, "absent-%d", i);
		cr_assert_eq(look(&scene, name, &st), -1);
	}
	cr_assert_eq(look(&scene, "late", &st), -1);
	cr_assert_eq(mkdirat(scene.dirfd, "late", 0700), 0);
	cr_expect_eq(look(&scene, "late", &st), 0, "it was asked for again");
	cr_assert_eq(mkdirat(scene.dirfd, "absent-7", 0700), 0);
	cr_expect_eq(look(&scene, "absent-7", &st), -1, "what was kept stays");
	strike_scene(&scene);
}
