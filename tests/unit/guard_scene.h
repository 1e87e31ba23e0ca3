/* A workspace with a guard over it, for the tests of the guard. */
#ifndef TESTS_UNIT_GUARD_SCENE_H
#define TESTS_UNIT_GUARD_SCENE_H

#include <stdbool.h>

#include "runtime/supervise/guard.h"

/* A workspace in which .git/hooks, .envrc and a/b/c are guarded, and a file beside it that nobody may touch. */
struct scene {
	char path[64], workspace[80];
	int dirfd, wsfd;
	struct plan_guard guards[3];
	struct plan plan;
	struct loop *loop;
	struct watcher *watcher;
	struct arena *arena;
	struct violations violations;
	struct guard *guard;
	int told, lost;
	struct error why;
};

void scene_set(struct scene *scene);
int scene_try_start(struct scene *scene, struct error *err);
void scene_start(struct scene *scene);
void scene_strike(struct scene *scene);
void scene_put_file(int dirfd, const char *path);
bool scene_has(int dirfd, const char *path);
/* Dispatches until the name is gone; the test's time-out is the other end. */
void scene_expect_removal(struct scene *scene, const char *path);
/* A planted name that was told. */
bool scene_has_violation(const struct scene *scene, const char *path, const char *action);
/* A tree is told when it is deleted; the test's time-out is the other end. */
void scene_expect_violation(struct scene *scene, const char *path, const char *action);

#endif
