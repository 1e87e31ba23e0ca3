#include "tests/unit/guard_scene.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/harness.h"

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

void scene_set(struct scene *scene)
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

int scene_try_start(struct scene *scene, struct error *err)
{
	const struct guard_hooks hooks = {on_lost, scene};

	if (scene->watcher == NULL)
		harness_ok(watcher_new(scene->loop, &scene->watcher, err), err);
	return guard_new(&scene->plan, scene->loop, scene->watcher, &scene->violations, &hooks, &scene->guard, err);
}

void scene_start(struct scene *scene)
{
	struct error err = {0};

	harness_ok(scene_try_start(scene, &err), &err);
	cr_assert_not_null(scene->guard);
}

void scene_strike(struct scene *scene)
{
	scene->guard = guard_free(scene->guard);
	scene->watcher = watcher_free(scene->watcher);
	scene->loop = loop_free(scene->loop);
	scene->arena = arena_free(scene->arena);
	fd_close(scene->wsfd);
	fd_close(scene->dirfd);
	harness_rm_tree(scene->path);
}

void scene_put_file(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	fd_close(fd);
}

bool scene_has(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

void scene_expect_removal(struct scene *scene, const char *path)
{
	struct error err = {0};

	while (scene_has(scene->wsfd, path))
		harness_ok(loop_dispatch(scene->loop, 20, &err), &err);
}

bool scene_has_violation(const struct scene *scene, const char *path, const char *action)
{
	for (size_t i = 0; i < scene->violations.n; i++) {
		const struct outcome_violation *v = &scene->violations.list[i];

		if (strcmp(v->path, path) == 0 && strcmp(v->action, action) == 0 && strcmp(v->kind, "planted") == 0)
			return true;
	}
	return false;
}

void scene_expect_violation(struct scene *scene, const char *path, const char *action)
{
	struct error err = {0};

	while (!scene_has_violation(scene, path, action))
		harness_ok(loop_dispatch(scene->loop, 20, &err), &err);
}
