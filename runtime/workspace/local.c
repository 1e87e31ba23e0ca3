/*
 * Copying from this machine into a workspace.
 *
 * Threat: a manifest of somebody else's names the source, and the source's own owner may put a symlink, a FIFO or
 * another file in its place at any time. Each component of the way is opened without following (base/beneath); what is
 * found at its end is first opened as a place only (O_PATH), which runs no driver and waits for no writer, then judged,
 * and only then opened for reading, through that place, so that no other thing can be it.
 *
 * Race: the walk has looked at an entry before it is opened, and the name is looked at again when the copy is complete:
 * all three must be the same file. A file that is replaced meanwhile, even by another regular one, refuses the copy.
 *
 * Order: a file is made with mode 0600 and gets its own when it is complete.
 *
 * Fallback: without /proc a place cannot be opened again. The name is opened instead, without waiting and without
 * following, and compared; so for an instant a device that was put there may be opened, but it is never read.
 */
#include "runtime/workspace/local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/climber.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"
#include "runtime/workspace/exclude.h"
#include "runtime/workspace/link_inside.h"

#define SHOWN      200
#define LOOKED_MAX 10000000 /* entries of a source, those that are left out too: what bounds the memory */

/* A file to be copied: where it is, what it is called in messages, and what is to become of it. */
struct file_copy {
	int dirfd;
	const char *name;
	const char *path;
	const struct stat *looked_at;
	int target_dirfd;
	const char *target_name;
	enum error_code code; /* for what is wrong with the source */
	const struct local_options *options;
	struct local_totals *totals;
	unsigned *ways; /* of copying: what the file system does not know is not tried for every file */
};

static int refuse(enum error_code code, const char *path, const char *reason, const char *what, struct error *err)
{
	char shown[SHOWN];

	error_set(err, code, "copy", "\"%s\" %s", str_printable(path, shown, sizeof shown), what);
	error_add_context(err, "reason", reason);
	return -1;
}

static int refuse_link(enum error_code code, const char *path, struct error *err)
{
	return refuse(
		code, path, "symlink_not_supported", "is a symlink, and sources are copied without following any", err);
}

static int refuse_changed(const struct file_copy *copy, struct error *err)
{
	return refuse(copy->code, copy->path, "path_changed_during_copy", "was replaced while it was copied", err);
}

static int fail_source(const struct file_copy *copy, const char *what, struct error *err)
{
	char shown[SHOWN];

	return error_set_errno(err, copy->code, errno, "copy", "cannot %s \"%s\"", what,
		str_printable(copy->path, shown, sizeof shown));
}

static int fail_target(const char *path, const char *what, struct error *err)
{
	char shown[SHOWN];

	return error_set_errno(err, ERROR_IO, errno, "copy", "cannot %s the copy of \"%s\"", what,
		str_printable(path, shown, sizeof shown));
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

static const char *kind_of_special(mode_t mode)
{
	if (S_ISFIFO(mode))
		return "is a FIFO: only regular files and directories are copied";
	if (S_ISSOCK(mode))
		return "is a socket: only regular files and directories are copied";
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return "is a device: only regular files and directories are copied";
	return "is no regular file";
}

/* Whether a thing of this kind may be opened for reading at all. */
static int check_kind(enum error_code code, const char *path, mode_t mode, struct error *err)
{
	if (S_ISREG(mode) || S_ISDIR(mode))
		return 0;
	if (S_ISLNK(mode))
		return refuse_link(code, path, err);
	return refuse(code, path, "special_file", kind_of_special(mode), err);
}

/* Race: what was a regular file when it was looked at may be exchanged for a FIFO or a link before it is opened: the
 * flags see to it that neither blocks nor leads on, and what was opened must be what was looked at. */
static int open_source(const struct file_copy *copy, struct error *err)
{
	cleanup_close int fd = openat(copy->dirfd, copy->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? refuse_changed(copy, err)
									   : fail_source(copy, "open", err);
	if (fstat(fd, &status) < 0)
		return fail_source(copy, "look at", err);
	return same_file(&status, copy->looked_at) ? steal_fd(&fd) : refuse_changed(copy, err);
}

static int tell_work(void *ctx, uint64_t bytes, struct error *err)
{
	const struct file_copy *copy = ctx;

	return work_count(copy->options->work, 0, bytes, copy->path, err);
}

/* What is left for this file of what the whole work may copy; work_count says it properly once it is too much. */
static uint64_t bytes_left(struct work *work)
{
	uint64_t used = atomic_load(&work->bytes);

	if (work->bytes_max == WORK_NO_LIMIT)
		return WORK_NO_LIMIT;
	return used < work->bytes_max ? work->bytes_max - used + 1 : 1;
}

static int copy_content(struct file_copy *copy, int source, int target, struct error *err)
{
	struct copy_budget budget = {
		.bytes_max = bytes_left(copy->options->work), .ways = *copy->ways, .tell = tell_work, .ctx = copy};
	char shown[SHOWN];
	int r = copy_file(source, target, &budget, err);

	*copy->ways = budget.ways;
	if (r == 0)
		return 0;
	if (err != NULL && err->code == ERROR_LOCAL_FILE_READ)
		err->code = copy->code;
	return error_prefix(err, "\"%s\"", str_printable(copy->path, shown, sizeof shown));
}

static mode_t file_mode(const struct file_copy *copy)
{
	if (copy->options->file_mode != 0)
		return copy->options->file_mode;
	return copy->looked_at->st_mode & S_IXUSR ? 0755 : 0644;
}

static int check_still_there(const struct file_copy *copy, struct error *err)
{
	struct stat status;

	if (fstatat(copy->dirfd, copy->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? refuse_changed(copy, err) : fail_source(copy, "look at", err);
	return same_file(&status, copy->looked_at) ? 0 : refuse_changed(copy, err);
}

static int copy_one(struct file_copy *copy, struct error *err)
{
	cleanup_close int source = open_source(copy, err);
	cleanup_close int target = -1;
	struct stat status;

	if (source < 0)
		return -1;
	target = openat(
		copy->target_dirfd, copy->target_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (target < 0)
		return fail_target(copy->path, "make", err);
	if (copy_content(copy, source, target, err) < 0 || check_still_there(copy, err) < 0)
		return -1;
	if (fchmod(target, file_mode(copy)) < 0 || fstat(target, &status) < 0)
		return fail_target(copy->path, "complete", err);
	copy->totals->files++;
	copy->totals->bytes += (uint64_t)status.st_size;
	return work_count(copy->options->work, 1, 0, copy->path, err);
}

/* Puts the word for a way that could not be gone; which component it was is looked up for the message alone. */
static int fail_way(enum error_code code, int base_fd, const char *src, struct error *err)
{
	int sys_errno = errno;
	char shown[SHOWN], part[PATH_MAX];

	if (sys_errno == EXDEV)
		return refuse(code, src, "outside_base_dir", "leads out of the base directory by \"..\"", err);
	if (sys_errno == ELOOP) {
		(void)snprintf(part, sizeof part, "%.*s", (int)beneath_link_length(base_fd, src), src);
		return refuse_link(code, part, err);
	}
	return error_set_errno(
		err, code, sys_errno, "open source", "cannot open \"%s\"", str_printable(src, shown, sizeof shown));
}

int local_copy_file(int base_fd, const char *src, int target_dirfd, const char *name,
	const struct local_options *options, struct local_totals *totals, struct error *err)
{
	unsigned ways = COPY_ALL_WAYS;
	struct stat status;
	struct file_copy copy = {.path = src,
		.looked_at = &status,
		.target_dirfd = target_dirfd,
		.target_name = name,
		.code = ERROR_LOCAL_FILE_READ,
		.options = options,
		.totals = totals,
		.ways = &ways};
	cleanup_close int parent = beneath_open_parent(base_fd, src, &copy.name);

	if (parent < 0)
		return fail_way(ERROR_LOCAL_FILE_READ, base_fd, src, err);
	copy.dirfd = parent;
	if (fstatat(parent, copy.name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_source(&copy, "look at", err);
	if (check_kind(ERROR_LOCAL_FILE_READ, src, status.st_mode, err) < 0)
		return -1;
	if (S_ISDIR(status.st_mode))
		return refuse(ERROR_LOCAL_FILE_READ, src, "special_file", "is a directory, not a file", err);
	return copy_one(&copy, err);
}

int local_open_dir(int base_fd, const char *src, struct error *err)
{
	cleanup_close int place = beneath_open(base_fd, src, O_PATH | O_NOFOLLOW, 0);
	cleanup_close int fd = -1;
	struct stat status;

	if (place < 0)
		return fail_way(ERROR_LOCAL_DIR_READ, base_fd, src, err);
	if (fstat(place, &status) < 0)
		return fail_way(ERROR_LOCAL_DIR_READ, base_fd, src, err);
	if (check_kind(ERROR_LOCAL_DIR_READ, src, status.st_mode, err) < 0)
		return -1;
	if (!S_ISDIR(status.st_mode))
		return refuse(ERROR_LOCAL_DIR_READ, src, "special_file", "is a file, not a directory", err);
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? fail_way(ERROR_LOCAL_DIR_READ, base_fd, src, err) : steal_fd(&fd);
}

struct dir_copy {
	struct climber target; /* follows the walk through the source */
	const struct local_options *options;
	struct local_totals *totals;
	unsigned ways; /* as of file_copy */
};

static bool is_excluded(const struct local_options *options, const struct tree_entry *entry)
{
	for (size_t i = 0; i < options->n_exclude; i++) {
		if (exclude_matches(options->exclude[i], entry->path, S_ISDIR(entry->status->st_mode)))
			return true;
	}
	return false;
}

static int make_directory(struct dir_copy *copy, const struct tree_entry *entry, struct error *err)
{
	if (mkdirat(copy->target.fd, entry->name, 0755) < 0 || climber_down(&copy->target, entry->name) < 0 ||
		fchmod(copy->target.fd, 0755) < 0) /* whatever the umask is */
		return fail_target(entry->path, "make", err);
	copy->totals->directories++;
	return work_count(copy->options->work, 1, 0, entry->path, err) < 0 ? -1 : TREE_GO_ON;
}

/* Nothing is ever written through what is made here: the copy goes down by directories alone. */
static int copy_link(struct dir_copy *copy, const struct tree_entry *entry, struct error *err)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(entry->dirfd, entry->name, target, sizeof target);

	if (length < 0 || (size_t)length >= sizeof target)
		return refuse(ERROR_LOCAL_DIR_READ, entry->path, "path_changed_during_copy",
			"cannot be read as a symlink", err);
	target[length] = '\0';
	if (!link_stays_inside(entry->path, target))
		return refuse(ERROR_LOCAL_DIR_READ, entry->path, "symlink_not_supported",
			"is a symlink that leads out of the entry, or might", err);
	if (symlinkat(target, copy->target.fd, entry->name) < 0)
		return fail_target(entry->path, "make", err);
	copy->totals->links++;
	return work_count(copy->options->work, 1, 0, entry->path, err) < 0 ? -1 : TREE_PASS_OVER;
}

static int copy_entry(void *ctx, const struct tree_entry *entry, struct error *err)
{
	struct dir_copy *copy = ctx;
	struct file_copy file = {.dirfd = entry->dirfd,
		.name = entry->name,
		.path = entry->path,
		.looked_at = entry->status,
		.target_dirfd = copy->target.fd,
		.target_name = entry->name,
		.code = ERROR_LOCAL_DIR_READ,
		.options = copy->options,
		.totals = copy->totals,
		.ways = &copy->ways};

	if (is_excluded(copy->options, entry))
		return TREE_PASS_OVER;
	if (strlen(entry->path) >= PATH_MAX)
		return error_set(err, ERROR_LIMIT, "copy", "the tree has a path of more than %d bytes", PATH_MAX - 1);
	if (S_ISLNK(entry->status->st_mode) && copy->options->links_inside)
		return copy_link(copy, entry, err);
	if (check_kind(ERROR_LOCAL_DIR_READ, entry->path, entry->status->st_mode, err) < 0)
		return -1;
	if (S_ISDIR(entry->status->st_mode))
		return make_directory(copy, entry, err);
	return copy_one(&file, err) < 0 ? -1 : TREE_PASS_OVER;
}

static int leave_directory(void *ctx, struct error *err)
{
	struct dir_copy *copy = ctx;

	return climber_up(&copy->target) < 0 ? fail_target(".", "come back in", err) : 0;
}

int local_copy_dir(int source_dirfd, int target_dirfd, const struct local_options *options, struct local_totals *totals,
	struct error *err)
{
	struct dir_copy copy = {.target = CLIMBER_NOWHERE, .options = options, .totals = totals, .ways = COPY_ALL_WAYS};
	const struct tree_visitor visitor = {.visit = copy_entry, .leave = leave_directory, .strict = true, .ctx = &copy};
	struct tree_budget budget = {.entries_max = LOOKED_MAX};
	int r;

	if (work_check(options->work, err) < 0)
		return -1;
	if (climber_begin(&copy.target, target_dirfd) < 0)
		return fail_target(".", "begin", err);
	r = tree_walk(source_dirfd, &budget, &visitor, err);
	climber_done(&copy.target);
	return r;
}
