/*
 * The archive is copied first. So both passes read the same bytes, whoever owns the original; zip can be sought in, and
 * standard input is an archive like any other; and nothing but the copy has to be shown inside the boundary.
 *
 * Everything lies in one directory of mode 0700 with a random name, beside where it is to go, so that a rename brings
 * it there. Race: somebody may own the directory around it. What was made is opened without following a link, must
 * belong to this process, and is used by its descriptor from then on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/tree.h"
#include "runtime/workspace/archive/rules.h"
#include "runtime/workspace/extract_parts.h"
#include "runtime/workspace/private_dir.h"

#define STAGING_PREFIX  ".pinfold-extract-"
#define STAGING_ARCHIVE "archive"
#define PIECE_BYTES     (128u << 10)

static int refuse_input(const struct extract_options *options, uint64_t actual, struct error *err)
{
	char number[24];

	(void)error_set(err, ERROR_LIMIT, "archive", "it is too large: %llu bytes at least, and at most %llu (max-input)",
		(unsigned long long)actual, (unsigned long long)options->input_max);
	error_add_context(err, "limit", "max-input");
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)options->input_max);
	error_add_context(err, "most", number);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)actual);
	error_add_context(err, "actual", number);
	return -1;
}

static int look_for_end(void *context, uint64_t bytes, struct error *err)
{
	struct work *work = context;

	(void)bytes;
	return work != NULL ? work_check(work, err) : 0;
}

static int copy_regular(
	int from, int to, uint64_t size, const struct extract_options *options, uint64_t *ret_bytes, struct error *err)
{
	struct copy_budget budget = {.bytes_max = options->input_max == EXTRACT_NO_LIMIT ? UINT64_MAX : options->input_max,
		.ways = COPY_ALL_WAYS,
		.tell = look_for_end,
		.ctx = options->work};

	if (size > options->input_max)
		return refuse_input(options, size, err);
	if (copy_file(from, to, &budget, err) < 0)
		return error_prefix(err, "the archive");
	*ret_bytes = size;
	return 0;
}

/* Waits for more; a caller that gives up is heard meanwhile. */
static int wait_readable(int fd, struct work *work, struct error *err)
{
	struct pollfd fds[1 + WORK_FDS_MAX] = {{.fd = fd, .events = POLLIN}};
	size_t n = 1 + (work != NULL ? work_poll_fds(work, fds + 1) : 0);

	if (poll(fds, n, -1) < 0 && errno != EINTR)
		return error_set_errno(err, ERROR_INTERNAL, errno, "poll", "cannot wait for the archive");
	return work != NULL ? work_check(work, err) : 0;
}

static int copy_stream(int from, int to, const struct extract_options *options, uint64_t *ret_bytes, struct error *err)
{
	cleanup_free char *piece = malloc(PIECE_BYTES);
	uint64_t bytes = 0;

	if (piece == NULL)
		return error_no_memory(err);
	for (;;) {
		ssize_t n;

		if (wait_readable(from, options->work, err) < 0)
			return -1;
		n = read(from, piece, PIECE_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return error_set_errno(
				err, ERROR_WORKSPACE_ARCHIVE_READ, errno, "read", "cannot read the archive");
		if (n == 0)
			break;
		bytes += (uint64_t)n;
		if (bytes > options->input_max)
			return refuse_input(options, bytes, err);
		if (fd_write_all(to, piece, (size_t)n) < 0)
			return error_set_errno(err, ERROR_IO, errno, "write", "cannot keep a copy of the archive");
	}
	*ret_bytes = bytes;
	return 0;
}

static int copy_archive(struct staging *staging, int archive_fd, const struct extract_options *options,
	uint64_t *ret_bytes, struct error *err)
{
	cleanup_close int to =
		openat(staging->fd, STAGING_ARCHIVE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;
	int r;

	if (to < 0)
		return error_set_errno(err, ERROR_IO, errno, "staging", "cannot keep a copy of the archive");
	if (fstat(archive_fd, &st) < 0)
		return error_set_errno(err, ERROR_WORKSPACE_ARCHIVE_READ, errno, "fstat", "cannot read the archive");
	if (S_ISDIR(st.st_mode))
		return error_set_errno(err, ERROR_WORKSPACE_ARCHIVE_READ, EISDIR, "archive", "cannot read the archive");
	if (S_ISREG(st.st_mode) && st.st_size > 0 && lseek(archive_fd, 0, SEEK_CUR) == 0)
		r = copy_regular(archive_fd, to, (uint64_t)st.st_size, options, ret_bytes, err);
	else
		r = copy_stream(archive_fd, to, options, ret_bytes, err);
	if (r < 0)
		return -1;
	staging->archive_fd = openat(staging->fd, STAGING_ARCHIVE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return staging->archive_fd < 0 ? error_set_errno(err, ERROR_IO, errno, "staging", "cannot open the copy") : 0;
}

int staging_make(struct staging *staging, int parent_fd, int archive_fd, const struct extract_options *options,
	uint64_t *ret_input_bytes, struct error *err)
{
	staging->parent_fd = parent_fd;
	staging->fd = private_dir_make(parent_fd, STAGING_PREFIX, staging->name, err);
	if (staging->fd < 0 || copy_archive(staging, archive_fd, options, ret_input_bytes, err) < 0)
		return -1;
	if (mkdirat(staging->fd, STAGING_TREE, STAGING_TREE_MODE) < 0)
		return error_set_errno(err, ERROR_IO, errno, "staging", "cannot make the new directory");
	staging->tree_fd = openat(staging->fd, STAGING_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (staging->tree_fd < 0 || fchmod(staging->tree_fd, STAGING_TREE_MODE) < 0) /* whatever the umask is */
		return error_set_errno(err, ERROR_IO, errno, "staging", "cannot open the new directory");
	return 0;
}

/* What cannot be removed (somebody has mounted something in it) stays, under a name that says whose it is. */
void staging_remove(struct staging *staging)
{
	struct error ignored;

	cleanup_close_fd(&staging->tree_fd);
	cleanup_close_fd(&staging->archive_fd);
	if (staging->name[0] != '\0' && tree_remove_opened(staging->parent_fd, staging->name, staging->fd, &ignored) == 0)
		staging->name[0] = '\0';
	cleanup_close_fd(&staging->fd);
}
