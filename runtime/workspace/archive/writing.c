/*
 * Order: symbolic links are made last, when nothing is written any more, so that nothing can be written through one. A
 * file is made anew (O_EXCL) with mode 0600, and gets the mode that others may read by when it is complete.
 *
 * Owners, attributes, access lists and flags are not restored: nothing here even looks at them. Times of files are, as
 * far as they can be; one that the file system does not take is left out, for it would cost the whole archive.
 */
#include "runtime/workspace/archive/writing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MTIME_MAX 253402300799 /* the last second of the year 9999 */

struct writing_link {
	const char *path, *target;
};

/* A full disk and its like are no fault of the archive's. */
static int failed(struct error *err, const char *what, const struct member_name *name)
{
	return error_set_errno(err, ERROR_IO, errno, "extract", "cannot %s %.200s", what, name->path);
}

/* What is there was made by this pass, so an error other than EEXIST is one. */
static int make_directory(const struct writing *writing, const char *path)
{
	return mkdirat(writing->directory_fd, path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

static int make_parents(const struct writing *writing, const struct member_name *name, int implied, struct error *err)
{
	char path[MEMBER_NAME_MAX];
	size_t there = name->depth - 1 - (size_t)implied; /* the way of a deep member has been made by others, mostly */

	if (implied == 0)
		return 0;
	memcpy(path, name->path, sizeof path);
	for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		if (there > 0) {
			there--;
			continue;
		}
		*slash = '\0';
		if (make_directory(writing, path) < 0)
			return failed(err, "make the directories of", name);
		*slash = '/';
	}
	return 0;
}

static int write_directory(void *context, const struct member_name *name, int implied, mode_t mode, struct error *err)
{
	const struct writing *writing = context;

	if (make_parents(writing, name, implied, err) < 0)
		return -1;
	if (make_directory(writing, name->path) < 0 || fchmodat(writing->directory_fd, name->path, mode, 0) < 0)
		return failed(err, "make the directory", name);
	return 0;
}

static int write_file(void *context, const struct member_name *name, int implied, struct error *err)
{
	struct writing *writing = context;

	if (make_parents(writing, name, implied, err) < 0)
		return -1;
	writing->file_fd =
		openat(writing->directory_fd, name->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return writing->file_fd < 0 ? failed(err, "make", name) : 0;
}

static int write_data(void *context, const void *data, size_t size, uint64_t offset, struct error *err)
{
	const struct writing *writing = context;
	const char *at = data;

	while (size > 0) {
		ssize_t n = pwrite(writing->file_fd, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set_errno(err, ERROR_IO, errno, "extract", "cannot write a file");
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static void set_mtime(const struct writing *writing, int64_t mtime)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = mtime}};

	if (mtime >= 0 && mtime <= MTIME_MAX)
		(void)futimens(writing->file_fd, times);
}

static int end_file(void *context, uint64_t size, mode_t mode, int64_t mtime, struct error *err)
{
	struct writing *writing = context;
	int fd = writing->file_fd;

	if (ftruncate(fd, (off_t)size) < 0 || fchmod(fd, mode) < 0)
		return error_set_errno(err, ERROR_IO, errno, "extract", "cannot complete a file");
	set_mtime(writing, mtime);
	writing->file_fd = -1;
	return close(fd) < 0 ? error_set_errno(err, ERROR_IO, errno, "extract", "cannot complete a file") : 0;
}

static int keep_link(void *context, const struct member_name *name, int implied, const char *target, struct error *err)
{
	struct writing *writing = context;
	struct writing_link *link;

	if (make_parents(writing, name, implied, err) < 0)
		return -1;
	link = arena_push(writing->arena, &writing->links, &writing->n_links);
	if (link == NULL)
		return error_no_memory(err);
	link->path = arena_strdup(writing->arena, name->path);
	link->target = arena_strdup(writing->arena, target);
	return arena_check(writing->arena, err);
}

static void report(void *context, uint64_t members, uint64_t bytes)
{
	const struct writing *writing = context;

	writing->progress(members, bytes);
}

int writing_init(struct writing *writing, int directory_fd, void (*progress)(uint64_t, uint64_t), struct error *err)
{
	*writing = (struct writing){.directory_fd = directory_fd, .file_fd = -1, .progress = progress};
	return arena_new(&writing->arena, err);
}

void writing_done(struct writing *writing)
{
	cleanup_close_fd(&writing->file_fd);
	writing->arena = arena_free(writing->arena);
}

struct pass_sink writing_sink(struct writing *writing)
{
	return (struct pass_sink){.directory = write_directory,
		.file = write_file,
		.data = write_data,
		.file_end = end_file,
		.link = keep_link,
		.progress = report,
		.context = writing};
}

int writing_finish(struct writing *writing, struct error *err)
{
	for (size_t i = 0; i < writing->n_links; i++) {
		const struct writing_link *link = &writing->links[i];

		if (symlinkat(link->target, writing->directory_fd, link->path) < 0)
			return error_set_errno(
				err, ERROR_IO, errno, "extract", "cannot make the link %.200s", link->path);
	}
	return 0;
}
