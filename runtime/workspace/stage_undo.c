/*
 * Modes of directories, which come last, and taking back what was done: step by step, last first, by the names under which
 * it was done. A step whose place somebody else has changed meanwhile fails and is told; nothing of theirs is replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "runtime/workspace/stage_step.h"

int stage_set_mode(struct stage *stage, const char *path, mode_t mode, struct error *err)
{
	cleanup_close int fd = beneath_open(stage->root_fd, path, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0)
		return stage_refuse_by_errno(errno, "be opened", path, err);
	if (fstat(fd, &st) < 0)
		return stage_fail(errno, "be looked at", path, err);
	if (stage_note(stage, STEP_MODE, path, "", st.st_mode & 07777, err) < 0)
		return -1;
	if (fchmod(fd, mode) == 0)
		return 0;
	stage->n_steps--;
	return stage_fail(errno, "get its mode", path, err);
}

/* The mode that the directory had before it was widened; false where it was not. */
static bool find_widened(const struct stage *stage, const char *path, mode_t *ret_mode)
{
	for (size_t i = 0; stage->n_widened > 0 && i < stage->n_steps; i++) {
		if (stage->steps[i].kind != STEP_WIDENED || strcmp(stage->steps[i].path, path) != 0)
			continue;
		*ret_mode = stage->steps[i].mode;
		return true;
	}
	return false;
}

int stage_get_mode(const struct stage *stage, const char *path, mode_t *ret_mode, struct error *err)
{
	cleanup_close int fd = -1;
	struct stat st;

	if (find_widened(stage, path, ret_mode))
		return 0;
	fd = beneath_open(stage->root_fd, path, O_PATH | O_DIRECTORY, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return stage_refuse_by_errno(errno, "be looked at", path, err);
	*ret_mode = st.st_mode & 07777;
	return 0;
}

/* What was widened and then exchanged for another, or got a mode by the manifest, keeps what it has. */
static bool is_superseded(const struct stage *stage, size_t index)
{
	for (size_t i = index + 1; i < stage->n_steps; i++)
		if ((stage->steps[i].kind == STEP_MODE || stage->steps[i].kind == STEP_EXCHANGED) &&
			strcmp(stage->steps[i].path, stage->steps[index].path) == 0)
			return true;
	return false;
}

static int undo_rename(const struct stage *stage, const struct stage_step *step)
{
	const char *name, *staged;
	cleanup_close int to_fd = beneath_open_parent(stage->root_fd, step->path, &name);
	cleanup_close int from_fd = beneath_open_parent(stage->fd, step->staged, &staged);

	if (to_fd < 0 || from_fd < 0)
		return -1;
	return renameat2(to_fd, name, from_fd, staged, step->kind == STEP_PLACED ? RENAME_NOREPLACE : RENAME_EXCHANGE);
}

static int undo_making(const struct stage *stage, const struct stage_step *step)
{
	const char *name;
	cleanup_close int fd = beneath_open_parent(stage->root_fd, step->path, &name);

	return fd < 0 ? -1 : unlinkat(fd, name, AT_REMOVEDIR);
}

static int undo_mode(const struct stage *stage, const struct stage_step *step)
{
	cleanup_close int fd = beneath_open(stage->root_fd, step->path, O_RDONLY | O_DIRECTORY, 0);

	return fd < 0 ? -1 : fchmod(fd, step->mode);
}

int stage_settle(const struct stage *stage, struct error *err)
{
	for (size_t i = stage->n_steps; stage->n_widened > 0 && i-- > 0;) {
		const struct stage_step *step = &stage->steps[i];

		if (step->kind == STEP_WIDENED && !is_superseded(stage, i) && undo_mode(stage, step) < 0)
			return stage_fail(errno, "get its mode back", step->path, err);
	}
	return 0;
}

static int undo_step(const struct stage *stage, const struct stage_step *step)
{
	switch (step->kind) {
	case STEP_PLACED:
	case STEP_EXCHANGED: return undo_rename(stage, step);
	case STEP_MADE: return undo_making(stage, step);
	case STEP_MODE:
	case STEP_WIDENED: break;
	}
	return undo_mode(stage, step);
}

int stage_undo(struct stage *stage, struct error *err)
{
	size_t n = stage->n_steps;
	int r = 0;

	stage->n_steps = 0;
	while (n-- > 0)
		if (undo_step(stage, &stage->steps[n]) < 0 && r == 0)
			r = stage_fail(errno, "be made as it was before", stage->steps[n].path, err);
	return r;
}
