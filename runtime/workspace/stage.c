/*
 * The private directory lies in the workspace itself, so that it is on the same file system and a rename is all it takes,
 * and has mode 0700, so that nobody else sees what is half made. What is replaced goes there in exchange, and stays until
 * all is done: to undo is to exchange again.
 *
 * Threat: the workspace may hold what a confined command left there, and such a command may go on changing it. Every
 * directory on the way is opened in the act of being looked at, without following a symlink, and every rename is between
 * two open directories. Whatever is swapped meanwhile, nothing outside of the workspace is reached; at worst a step fails.
 *
 * Race: a rename says by itself whether something was there (RENAME_NOREPLACE). What is looked at afterwards decides
 * only whether to exchange, and an exchange follows nothing and loses nothing.
 *
 * Order: directories keep all the owner's rights until everything is in place (a directory that cannot be written cannot
 * be filled), and get their modes last.
 */
#include "runtime/workspace/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"
#include "runtime/workspace/stage_step.h"

#define DEPTH_MAX      256 /* of directories that are merged: two descriptors each */
#define MODE_DIRECTORY 0755

int stage_fail(int sys_errno, const char *what, const char *path, struct error *err)
{
	char shown[200];

	return error_set_errno(err, sys_errno == EACCES || sys_errno == EPERM ? ERROR_PERMISSION_DENIED : ERROR_IO,
		sys_errno, "workspace", "%s: cannot %s", str_printable(path, shown, sizeof shown), what);
}

static int refuse(const char *reason, const char *path, const char *says, struct error *err)
{
	char shown[200];

	(void)error_set(err, ERROR_INVALID_MANIFEST_PATH, "workspace", "%s: %s",
		str_printable(path, shown, sizeof shown), says);
	error_add_context(err, "reason", reason);
	error_add_context(err, "path", path);
	return -1;
}

int stage_refuse_by_errno(int sys_errno, const char *what, const char *path, struct error *err)
{
	if (sys_errno == ELOOP)
		return refuse(
			"symlink_not_supported", path, "there is a symlink on the way, which is never followed", err);
	if (sys_errno == ENOTDIR)
		return refuse("not_a_directory", path, "something on the way is no directory", err);
	return stage_fail(sys_errno, what, path, err);
}

int stage_open(struct stage *stage, int root_fd, struct error *err)
{
	*stage = (struct stage)STAGE_INIT;
	stage->root_fd = root_fd;
	if (arena_new(&stage->arena, err) < 0)
		return -1;
	stage->fd = private_dir_make(root_fd, STAGE_PREFIX, stage->name, err);
	if (stage->fd >= 0)
		return 0;
	stage->arena = arena_free(stage->arena);
	return -1;
}

int stage_close(struct stage *stage, struct error *err)
{
	int r = 0;

	if (stage->fd >= 0)
		r = tree_remove_opened(stage->root_fd, stage->name, stage->fd, err);
	cleanup_close_fd(&stage->fd);
	stage->fd = -1;
	stage->arena = arena_free(stage->arena);
	return r;
}

int stage_note(struct stage *stage, enum stage_step_kind kind, const char *path, const char *staged, mode_t mode,
	struct error *err)
{
	struct stage_step *step = arena_push(stage->arena, &stage->steps, &stage->n_steps);

	if (step == NULL)
		return error_no_memory(err);
	*step = (struct stage_step){.kind = kind, .mode = mode};
	step->path = arena_strdup(stage->arena, path);
	step->staged = arena_strdup(stage->arena, staged);
	return arena_check(stage->arena, err);
}

/* The last step was not taken after all. */
static void forget(struct stage *stage)
{
	stage->n_steps--;
}

static int look_at(int dirfd, const char *name, const char *path, enum stage_found *ret_found, struct error *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return stage_fail(errno, "be looked at", path, err);
		*ret_found = STAGE_ABSENT;
		return 0;
	}
	if (S_ISLNK(st.st_mode))
		return refuse("symlink_not_supported", path, "there is a symlink, which is never followed", err);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse("special_file", path, "what is there is neither a file nor a directory", err);
	*ret_found = S_ISDIR(st.st_mode) ? STAGE_DIRECTORY : STAGE_FILE;
	return 0;
}

int stage_look(const struct stage *stage, const char *path, enum stage_found *ret_found, struct error *err)
{
	const char *name;
	cleanup_close int fd = beneath_open_parent(stage->root_fd, path, &name);

	if (fd < 0 && errno == ENOENT) {
		*ret_found = STAGE_ABOVE;
		return 0;
	}
	if (fd < 0)
		return stage_refuse_by_errno(errno, "be looked at", path, err);
	return look_at(fd, name, path, ret_found, err);
}

/* One directory on the way; made where it lacks. so_far: its path. Returns its descriptor. */
static int step_into(struct stage *stage, int dirfd, const char *part, const char *so_far, struct error *err)
{
	int fd = beneath_open(dirfd, part, O_PATH | O_DIRECTORY, 0);

	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : stage_refuse_by_errno(errno, "be gone into", so_far, err);
	if (stage_note(stage, STEP_MADE, so_far, "", 0, err) < 0)
		return -1;
	if (mkdirat(dirfd, part, 0700) < 0) {
		forget(stage);
		return stage_fail(errno, "be made", so_far, err);
	}
	fd = beneath_open(dirfd, part, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return stage_refuse_by_errno(errno, "be gone into", so_far, err);
	if (fchmod(fd, MODE_DIRECTORY) == 0)
		return fd;
	(void)fd_close(fd);
	return stage_fail(errno, "get its mode", so_far, err);
}

/* The directory that `path` is in, whose last part is pointed to. Returns the descriptor. */
static int open_above(struct stage *stage, const char *path, const char **ret_name, struct error *err)
{
	cleanup_close int fd = beneath_open(stage->root_fd, "", O_PATH | O_DIRECTORY, 0);
	char part[NAME_MAX + 1], so_far[PATH_MAX];
	const char *at = path;

	if (fd < 0)
		return stage_fail(errno, "be opened", "the workspace", err);
	for (const char *slash; (slash = strchr(at, '/')) != NULL; at = slash + 1) {
		int next;

		(void)snprintf(part, sizeof part, "%.*s", (int)(slash - at), at);
		(void)snprintf(so_far, sizeof so_far, "%.*s", (int)(slash - path), path);
		next = step_into(stage, fd, part, so_far, err);
		if (next < 0)
			return -1;
		(void)fd_close(fd);
		fd = next;
	}
	*ret_name = at;
	return steal_fd(&fd);
}

/* Something between two open directories: what is to be put, and where. */
struct putting {
	struct stage *stage;
	int from_fd;        /* below the stage */
	const char *staged; /* from the stage: "3/sub/name" */
	int to_fd;
	const char *path; /* from the workspace */
	bool directory;
	bool anew;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int rename_with(const struct putting *putting, unsigned flags)
{
	return renameat2(putting->from_fd, last_part(putting->staged), putting->to_fd, last_part(putting->path), flags);
}

static int do_rename(const struct putting *putting, enum stage_step_kind kind, unsigned flags, struct error *err)
{
	if (stage_note(putting->stage, kind, putting->path, putting->staged, 0, err) < 0)
		return -1;
	if (rename_with(putting, flags) == 0)
		return 0;
	forget(putting->stage);
	return -1;
}

/* errno: of a rename. */
static int fail_rename(const char *path, struct error *err)
{
	bool unknown = errno == EINVAL;

	(void)stage_fail(errno, "be put into its place", path, err);
	if (unknown)
		error_set_fix(err, "the file system must know renames that replace nothing and exchange (renameat2)");
	return -1;
}

static int merge(const struct putting *putting, unsigned depth, struct error *err);

/* A directory that its owner may not change can neither be filled nor leave its place: it gets the owner's rights, and its
 * mode back in the end (stage_settle, stage_undo). Where that is not ours to do, the next step says what it lacks. */
static int widen(const struct putting *putting, struct error *err)
{
	const char *name = last_part(putting->path);
	struct stat st;
	mode_t mode;

	if (fstatat(putting->to_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	mode = st.st_mode & 07777;
	if ((mode & 0700) == 0700)
		return 0;
	if (stage_note(putting->stage, STEP_WIDENED, putting->path, "", mode, err) < 0)
		return -1;
	if (fchmodat(putting->to_fd, name, mode | 0700, AT_SYMLINK_NOFOLLOW) < 0)
		forget(putting->stage);
	else
		putting->stage->n_widened++;
	return 0;
}

static int put_over(const struct putting *putting, unsigned depth, struct error *err)
{
	enum stage_found found = STAGE_ABSENT;
	struct error failed = {};

	if (look_at(putting->to_fd, last_part(putting->path), putting->path, &found, err) < 0)
		return -1;
	if (found == STAGE_DIRECTORY && (putting->directory || putting->anew) && widen(putting, err) < 0)
		return -1;
	if (found == STAGE_DIRECTORY && putting->directory && !putting->anew)
		return merge(putting, depth, err);
	if (found == STAGE_DIRECTORY && !putting->directory && !putting->anew)
		return refuse("is_a_directory", putting->path, "a directory is there, where a file is to be", err);
	if (found == STAGE_FILE && putting->directory && !putting->anew)
		return refuse("not_a_directory", putting->path, "a file is there, where a directory is to be", err);
	if (do_rename(putting, STEP_EXCHANGED, RENAME_EXCHANGE, &failed) == 0)
		return 0;
	if (failed.code != ERROR_NONE) {
		*err = failed;
		return -1;
	}
	return fail_rename(putting->path, err);
}

static int put(const struct putting *putting, unsigned depth, struct error *err)
{
	struct error failed = {};

	if (do_rename(putting, STEP_PLACED, RENAME_NOREPLACE, &failed) == 0)
		return 0;
	if (failed.code != ERROR_NONE) {
		*err = failed;
		return -1;
	}
	if (errno == EEXIST)
		return put_over(putting, depth, err);
	return fail_rename(putting->path, err);
}

static int read_names(DIR *dir, const char *path, struct buf *names, struct error *err)
{
	const struct dirent *entry;

	while ((errno = 0, entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			buf_append(names, entry->d_name, strlen(entry->d_name) + 1);
	return errno != 0 ? stage_fail(errno, "be listed", path, err) : buf_check(names, err);
}

/* The names in a directory, one after the other, each with a NUL behind it, before anything in it is renamed. */
static int list(int dirfd, const char *path, struct buf *names, struct error *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int r;

	if (dir == NULL) {
		(void)stage_fail(errno, "be listed", path, err);
		return fd_close(fd);
	}
	r = read_names(dir, path, names, err);
	(void)closedir(dir);
	return r;
}

static int put_child(
	const struct putting *above, int from_fd, int to_fd, const char *name, unsigned depth, struct error *err)
{
	struct arena *arena = above->stage->arena;
	struct putting child = {
		.stage = above->stage,
		.from_fd = from_fd,
		.staged = arena_printf(arena, "%s/%s", above->staged, name),
		.to_fd = to_fd,
		.path = arena_printf(arena, "%s/%s", above->path, name),
	};
	struct stat st;

	if (arena_check(arena, err) < 0)
		return -1;
	if (strlen(child.path) >= PATH_MAX)
		return error_set(err, ERROR_LIMIT, "workspace", "a path would be longer than %d bytes", PATH_MAX);
	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return stage_fail(errno, "be looked at", child.path, err);
	child.directory = S_ISDIR(st.st_mode);
	return put(&child, depth, err);
}

/* A directory that was built goes into one that is there. The one that was built is ours: it gets the owner's rights,
 * without which its children could not leave it. */
static int merge(const struct putting *putting, unsigned depth, struct error *err)
{
	cleanup_close int from_fd = beneath_open(putting->from_fd, last_part(putting->staged), O_RDONLY | O_DIRECTORY, 0);
	cleanup_close int to_fd = beneath_open(putting->to_fd, last_part(putting->path), O_PATH | O_DIRECTORY, 0);
	cleanup_buf struct buf names = {};

	if (depth >= DEPTH_MAX)
		return error_set(err, ERROR_LIMIT, "workspace", "more than %d directories in each other", DEPTH_MAX);
	if (from_fd < 0 || fchmod(from_fd, 0700) < 0)
		return stage_fail(errno, "be opened", putting->path, err);
	if (to_fd < 0)
		return stage_refuse_by_errno(errno, "be gone into", putting->path, err);
	if (list(from_fd, putting->path, &names, err) < 0)
		return -1;
	for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1)
		if (put_child(putting, from_fd, to_fd, names.data + at, depth + 1, err) < 0)
			return -1;
	return 0;
}

int stage_begin(struct stage *stage, struct error *err)
{
	return private_dir_keep(stage->root_fd, stage->name, err);
}

int stage_put(struct stage *stage, const char *name, const char *path, bool directory, bool anew, struct error *err)
{
	const char *last;
	cleanup_close int to_fd = open_above(stage, path, &last, err);
	const struct putting putting = {stage, stage->fd, name, to_fd, path, directory, anew};

	(void)last;
	return to_fd < 0 ? -1 : put(&putting, 0, err);
}
