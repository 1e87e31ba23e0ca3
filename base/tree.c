/*
 * Directory trees by descriptor.
 *
 * Threat: the tree belongs to somebody who may make it deep, wide, and move it about while we look. So there is no
 * recursion: the way back is in a list, one directory is open at a time (base/climber), the names of a directory are
 * read at once when it is entered, and every name that is read is taken off a budget, which bounds the memory, too.
 *
 * What is visited was looked at without following a link, an instant before. Whoever opens it afterwards compares what
 * he has opened with what was looked at (tree_entry.status); the walk itself needs no such look, since it goes down
 * with O_NOFOLLOW and comes up only to where it was.
 *
 * Removing is base/removal, which is made for trees that change and resist.
 */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/climber.h"
#include "base/removal.h"
#include "base/str.h"

#define REMOVE_MAX ((size_t)1 << 28) /* entries handled: who makes them faster than we remove them is not waited for */

/* A directory on the way: the names that are in it, and which is next. */
struct level {
	char *names; /* one after the other */
	char **sorted;
	size_t n, next;
	size_t path_length; /* of the directory's own path */
};

struct walk {
	struct climber climber;
	struct level *levels;
	size_t n_levels, allocated;
	struct buf path;
	struct tree_budget *budget;
	const struct tree_visitor *visitor;
};

static int fail_read(const struct walk *walk, struct error *err, int sys_errno, const char *what)
{
	char path[200];

	error_set_errno(err, ERROR_LOCAL_DIR_READ, sys_errno, "read directory", "%s \"%s\"", what,
		str_printable(walk->path.size > 0 ? buf_str(&walk->path) : ".", path, sizeof path));
	if (sys_errno == ESTALE || sys_errno == ELOOP || sys_errno == ENOTDIR || sys_errno == ENOENT)
		error_add_context(err, "reason", "path_changed_during_copy");
	return -1;
}

static int fail_limit(const struct walk *walk, struct error *err, const char *what)
{
	char path[200];

	return error_set(err, ERROR_LIMIT, "read directory", "\"%s\": the tree has more %s than the limit",
		str_printable(buf_str(&walk->path), path, sizeof path), what);
}

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static DIR *open_list(int dirfd)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (dir == NULL && copy >= 0)
		(void)close(copy);
	return dir;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int read_names(struct walk *walk, DIR *dir, struct buf *names, size_t *ret_n, struct error *err)
{
	struct dirent *entry;
	size_t n = 0;

	while (errno = 0, (entry = readdir(dir)) != NULL) {
		if (is_dots(entry->d_name))
			continue;
		if (walk->budget->entries_max == 0)
			return fail_limit(walk, err, "entries");
		walk->budget->entries_max--;
		buf_append(names, entry->d_name, strlen(entry->d_name) + 1);
		n++;
	}
	if (errno != 0)
		return fail_read(walk, err, errno, "cannot list");
	*ret_n = n;
	return buf_check(names, err);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sort_names(struct level *level, struct error *err)
{
	char *name = level->names;

	level->sorted = reallocarray(NULL, level->n + 1, sizeof *level->sorted);
	if (level->sorted == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < level->n; i++, name += strlen(name) + 1)
		level->sorted[i] = name;
	qsort(level->sorted, level->n, sizeof *level->sorted, compare_names);
	return 0;
}

static int list_level(struct walk *walk, struct level *level, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *dir = open_list(walk->climber.fd);
	cleanup_buf struct buf names = {0};

	if (dir == NULL)
		return fail_read(walk, err, errno, "cannot list");
	if (read_names(walk, dir, &names, &level->n, err) < 0)
		return -1;
	level->names = buf_steal(&names);
	if (level->names == NULL)
		return error_no_memory(err);
	return sort_names(level, err);
}

static void level_done(struct level *level)
{
	free(level->names);
	free(level->sorted);
}

/* Lists the directory in which the climber is. */
static int enter_level(struct walk *walk, struct error *err)
{
	struct level level = {.path_length = walk->path.size};

	if (walk->budget->depth_max > 0 && walk->n_levels > walk->budget->depth_max)
		return fail_limit(walk, err, "levels");
	if (walk->n_levels == walk->allocated) {
		size_t wanted = walk->allocated > 0 ? 2 * walk->allocated : 16;
		struct level *levels = reallocarray(walk->levels, wanted, sizeof *levels);

		if (levels == NULL)
			return error_no_memory(err);
		walk->levels = levels;
		walk->allocated = wanted;
	}
	if (list_level(walk, &level, err) < 0) {
		level_done(&level);
		return -1;
	}
	walk->levels[walk->n_levels++] = level;
	return 0;
}

static void cut_path(struct walk *walk, size_t length)
{
	walk->path.size = length;
	if (walk->path.data != NULL)
		walk->path.data[length] = '\0';
}

static int go_down(struct walk *walk, const char *name, const struct stat *looked_at, struct error *err)
{
	struct stat status;

	if (climber_down(&walk->climber, name) < 0 || fstat(walk->climber.fd, &status) < 0)
		return fail_read(walk, err, errno, "cannot open");
	if (status.st_dev != looked_at->st_dev || status.st_ino != looked_at->st_ino)
		return fail_read(walk, err, ESTALE, "cannot open");
	return 0;
}

static int visit_entry(struct walk *walk, const char *name, struct error *err)
{
	struct stat status;
	struct tree_entry entry = {.dirfd = walk->climber.fd, .name = name, .status = &status};
	int r;

	if (fstatat(walk->climber.fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && !walk->visitor->strict ? 0 : fail_read(walk, err, errno, "cannot look at");
	entry.path = buf_str(&walk->path);
	r = walk->visitor->visit(walk->visitor->ctx, &entry, err);
	if (r != TREE_GO_ON || !S_ISDIR(status.st_mode))
		return r < 0 ? -1 : 0;
	return go_down(walk, name, &status, err) < 0 ? -1 : enter_level(walk, err);
}

/* Handles the next name of the deepest level. */
static int visit_next(struct walk *walk, struct level *level, struct error *err)
{
	const char *name = level->sorted[level->next++];

	cut_path(walk, level->path_length);
	if (walk->path.size > 0)
		buf_append_char(&walk->path, '/');
	buf_append_str(&walk->path, name);
	if (buf_check(&walk->path, err) < 0)
		return -1;
	return visit_entry(walk, name, err);
}

static int leave_level(struct walk *walk, struct error *err)
{
	struct level *level = &walk->levels[--walk->n_levels];

	cut_path(walk, level->path_length);
	level_done(level);
	if (walk->n_levels == 0)
		return 0;
	if (walk->visitor->leave != NULL && walk->visitor->leave(walk->visitor->ctx, err) < 0)
		return -1;
	return climber_up(&walk->climber) < 0 ? fail_read(walk, err, errno, "cannot come back from") : 0;
}

static int walk_levels(struct walk *walk, struct error *err)
{
	if (enter_level(walk, err) < 0)
		return -1;
	while (walk->n_levels > 0) {
		struct level *level = &walk->levels[walk->n_levels - 1];
		int r = level->next < level->n ? visit_next(walk, level, err) : leave_level(walk, err);

		if (r < 0)
			return -1;
	}
	return 0;
}

int tree_walk(int dirfd, struct tree_budget *budget, const struct tree_visitor *visitor, struct error *err)
{
	struct walk walk = {.climber = CLIMBER_NOWHERE, .budget = budget, .visitor = visitor};
	int r;

	if (climber_begin(&walk.climber, dirfd) < 0)
		return fail_read(&walk, err, errno, "cannot open");
	r = walk_levels(&walk, err);
	for (size_t i = 0; i < walk.n_levels; i++)
		level_done(&walk.levels[i]);
	free(walk.levels);
	buf_done(&walk.path);
	climber_done(&walk.climber);
	return r;
}

static int count_entry(void *ctx, const struct tree_entry *entry, struct error *err)
{
	struct tree_totals *totals = ctx;

	(void)err;
	if (S_ISDIR(entry->status->st_mode)) {
		totals->directories++;
	} else if (S_ISREG(entry->status->st_mode)) {
		totals->files++;
		totals->bytes += (uint64_t)entry->status->st_size;
	} else {
		totals->others++;
	}
	return TREE_GO_ON;
}

int tree_count(int dirfd, struct tree_budget *budget, struct tree_totals *ret_totals, struct error *err)
{
	struct tree_totals totals = {0};
	const struct tree_visitor visitor = {.visit = count_entry, .ctx = &totals};

	if (tree_walk(dirfd, budget, &visitor, err) < 0)
		return -1;
	*ret_totals = totals;
	return 0;
}

int tree_remove(int dirfd, const char *name, struct error *err)
{
	size_t budget = REMOVE_MAX;
	enum removal_result result = removal_delete(dirfd, name, &budget);
	char shown[200];

	if (result == REMOVAL_DONE)
		return 0;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0) /* once more, for the kernel's word */
		return 0;
	return error_set_errno(err, ERROR_IO, errno, "remove tree", "cannot remove \"%s\" with all that is in it",
		str_printable(name, shown, sizeof shown));
}

int tree_remove_opened(int dirfd, const char *name, int fd, struct error *err)
{
	size_t budget = REMOVE_MAX;
	char shown[200];

	if (removal_delete_opened(dirfd, name, fd, &budget) == REMOVAL_DONE)
		return 0;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0) /* once more, for the kernel's word */
		return 0;
	return error_set_errno(err, ERROR_IO, errno, "remove tree",
		"cannot remove \"%s\" with all that is in it, or it was exchanged for something else",
		str_printable(name, shown, sizeof shown));
}
