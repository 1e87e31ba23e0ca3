/*
 * Most of what a plan asks the host about are the same few directories above the secrets, over and over.
 *
 * Fallback: where memory is out nothing is kept, and the arena tells.
 */
#include "runtime/plan/look.h"

#include <errno.h>
#include <string.h>

#include "runtime/plan/path_set.h"

struct look {
	struct look *next;
	const char *path;
	int sys_errno;
	struct stat st;
};

static const struct look *find(const struct look *look, const char *path)
{
	while (look != NULL && strcmp(look->path, path) != 0)
		look = look->next;
	return look;
}

static void keep(struct looks *looks, struct arena *arena, struct look **slot, const struct look *look)
{
	const char *path = looks->n < LOOKS_MAX ? arena_strdup(arena, look->path) : NULL;
	struct look *kept = path == NULL ? NULL : arena_alloc(arena, sizeof *kept);

	if (kept == NULL)
		return;
	*kept = *look;
	kept->path = path;
	kept->next = *slot;
	*slot = kept;
	looks->n++;
}

int look_lstat(struct looks *looks, struct arena *arena, const char *path, struct stat *ret_st)
{
	struct look **slot = &looks->slots[path_hash(path, strlen(path)) % LOOK_SLOTS];
	const struct look *look = find(*slot, path);
	struct look now = {.path = path};

	if (look == NULL) {
		now.sys_errno = lstat(path, &now.st) < 0 ? errno : 0;
		keep(looks, arena, slot, &now);
		look = &now;
	}
	errno = look->sys_errno;
	if (look->sys_errno != 0)
		return -1;
	*ret_st = look->st;
	return 0;
}

int look_stat(struct looks *looks, struct arena *arena, const char *path, struct stat *ret_st)
{
	int r = look_lstat(looks, arena, path, ret_st);

	return r == 0 && S_ISLNK(ret_st->st_mode) ? stat(path, ret_st) : r;
}
