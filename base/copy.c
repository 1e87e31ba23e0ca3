/*
 * Copying the content of one regular file.
 *
 * Three ways, from cheap to dear: the file system lets both files share the blocks until one of them is written
 * (FICLONE); the kernel copies by itself (copy_file_range); we read and write. A way that fails, for whatever reason,
 * only leads to the next one from the place that was reached, so that in the end read or write says what is wrong and
 * on which side. Never by a hard link: what is copied shall be changed without the original.
 *
 * Threat: whoever owns the source may write to it meanwhile. It is copied as long as it was at the beginning: appending
 * cannot make the copy endless. Where it ends earlier the copy would be a mixture, and is an error. Files of /proc and
 * their like tell no length, or a wrong one; both are errors too, rather than an empty copy of a file that is not empty.
 *
 * Threat: `truncate -s 1T` costs its maker nothing. Holes are looked for (SEEK_DATA) where the file has fewer blocks
 * than its length needs, and are left out; the budget counts data alone.
 *
 * Fallback: a file system that knows no SEEK_DATA calls all of it data. There pieces that hold only zeros are not
 * written; reading them takes its time, and can be cancelled.
 */
#include "base/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define RANGE_PIECE (4UL << 20) /* between two looks at the cancellation */
#define PLAIN_PIECE (64UL << 10)
#define BLOCK       512 /* the unit of st_blocks */

struct copy {
	int source, target;
	off_t size;  /* at the beginning */
	bool sparse; /* it may have holes */
	bool by_range;
	char *piece; /* of PLAIN_PIECE bytes, once it is needed */
	struct copy_budget *budget;
};

static int fail_source(struct error *err, const char *what)
{
	return error_set_errno(err, ERROR_LOCAL_FILE_READ, errno, "copy file", "%s", what);
}

static int fail_target(struct error *err, const char *what)
{
	return error_set_errno(err, ERROR_IO, errno, "copy file", "%s", what);
}

static int fail_changed(struct error *err, const char *what)
{
	error_set(err, ERROR_LOCAL_FILE_READ, "copy file", "%s", what);
	error_add_context(err, "reason", "path_changed_during_copy");
	return -1;
}

static int spend(struct copy *copy, uint64_t bytes, struct error *err)
{
	struct copy_budget *budget = copy->budget;

	budget->bytes_max -= bytes;
	return budget->tell != NULL ? budget->tell(budget->ctx, bytes, err) : 0;
}

/* What the data of a file cost at most. */
static uint64_t data_bytes(const struct stat *status)
{
	uint64_t blocks = (uint64_t)status->st_blocks * BLOCK, size = (uint64_t)status->st_size;

	return blocks < size ? blocks : size;
}

static int cut_target(const struct copy *copy, struct error *err)
{
	return ftruncate(copy->target, copy->size) < 0 ? fail_target(err, "set the length of the copy") : 0;
}

/* Returns 1 where the blocks are shared now, 0 where another way has to be tried. */
static int share_blocks(struct copy *copy, const struct stat *status, struct error *err)
{
	if (!(copy->budget->ways & COPY_REFLINK) || data_bytes(status) > copy->budget->bytes_max)
		return 0;
	if (ioctl(copy->target, FICLONE, copy->source) < 0) {
		if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV)
			copy->budget->ways &= ~(unsigned)COPY_REFLINK;
		return 0;
	}
	if (spend(copy, data_bytes(status), err) < 0 || cut_target(copy, err) < 0)
		return -1;
	return 1;
}

static bool only_zeros(const char *data, size_t size)
{
	return size > 0 && data[0] == '\0' && memcmp(data, data + 1, size - 1) == 0;
}

/* Returns the bytes of data that were copied, 0 for a piece of zeros; *ret_read is how far it came. */
static ssize_t copy_piece_plainly(struct copy *copy, off_t at, size_t size, size_t *ret_read, struct error *err)
{
	ssize_t got;

	if (copy->piece == NULL)
		copy->piece = malloc(PLAIN_PIECE);
	if (copy->piece == NULL)
		return error_no_memory(err);
	do {
		got = pread(copy->source, copy->piece, size < PLAIN_PIECE ? size : PLAIN_PIECE, at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return fail_source(err, "read the file");
	if (got == 0)
		return fail_changed(err, "the file is shorter than its length said when it was opened");
	*ret_read = (size_t)got;
	if (copy->sparse && only_zeros(copy->piece, (size_t)got))
		return 0;
	if (lseek(copy->target, at, SEEK_SET) < 0 || fd_write_all(copy->target, copy->piece, (size_t)got) < 0)
		return fail_target(err, "write the copy");
	return got;
}

static ssize_t copy_piece(struct copy *copy, off_t at, size_t size, size_t *ret_read, struct error *err)
{
	ssize_t done = 0;
	off_t from = at, to = at;

	if (copy->by_range)
		done = copy_file_range(
			copy->source, &from, copy->target, &to, size < RANGE_PIECE ? size : RANGE_PIECE, 0);
	if (done > 0) {
		*ret_read = (size_t)done;
		return done;
	}
	copy->by_range = false; /* it failed, or knows no such file: reading tells which */
	if (!(copy->budget->ways & COPY_PLAIN))
		return fail_target(err, "copy by the kernel alone");
	return copy_piece_plainly(copy, at, size, ret_read, err);
}

static int copy_extent(struct copy *copy, off_t at, off_t end, struct error *err)
{
	while (at < end) {
		uint64_t size = (uint64_t)(end - at);
		size_t passed = 0;
		ssize_t copied;

		if (copy->budget->bytes_max == 0)
			return error_set(err, ERROR_LIMIT, "copy file", "the file has more data than may be copied");
		if (size > copy->budget->bytes_max)
			size = copy->budget->bytes_max;
		copied = copy_piece(copy, at, size, &passed, err);
		if (copied < 0 || spend(copy, (uint64_t)copied, err) < 0)
			return -1;
		at += (off_t)passed;
	}
	return 0;
}

/* Finds the first data from `at` on; both are the size where none follows. */
static void find_extent(const struct copy *copy, off_t at, off_t *ret_begin, off_t *ret_end)
{
	off_t begin = at, end = copy->size;

	if (copy->sparse && copy->budget->ways & COPY_SEEK) {
		begin = lseek(copy->source, at, SEEK_DATA);
		if (begin < 0)
			begin = errno == ENXIO ? copy->size : at;
		else
			end = lseek(copy->source, begin, SEEK_HOLE);
	}
	*ret_end = end < begin || end > copy->size ? copy->size : end;
	*ret_begin = begin > copy->size ? copy->size : begin;
}

static int copy_extents(struct copy *copy, struct error *err)
{
	off_t at = 0, begin, end;

	while (at < copy->size) {
		find_extent(copy, at, &begin, &end);
		if (copy->sparse && end - begin == copy->size)
			copy->by_range = false; /* its holes are not told of: they are found by reading */
		if (copy_extent(copy, begin, end, err) < 0)
			return -1;
		at = end;
	}
	return copy->sparse ? cut_target(copy, err) : 0;
}

/* A file of the kernel's own says that it is empty and is not. One that grows just now says its length afterwards. */
static int check_empty(const struct copy *copy, struct error *err)
{
	struct stat status;
	char byte;
	ssize_t got = pread(copy->source, &byte, 1, 0);

	if (got < 0)
		return fail_source(err, "read the file");
	if (got == 0)
		return 0;
	if (fstat(copy->source, &status) < 0)
		return fail_source(err, "look at the file");
	if (status.st_size > 0)
		return 0;
	return error_set(err, ERROR_LOCAL_FILE_READ, "copy file", "the file does not tell its length, as those of /proc");
}

static int copy_content(struct copy *copy, const struct stat *status, struct error *err)
{
	int shared;

	if (copy->size == 0)
		return check_empty(copy, err);
	shared = share_blocks(copy, status, err);
	if (shared != 0)
		return shared < 0 ? -1 : 0;
	return copy_extents(copy, err);
}

int copy_file(int source_fd, int target_fd, struct copy_budget *budget, struct error *err)
{
	struct copy copy = {.source = source_fd, .target = target_fd, .budget = budget};
	struct stat status;
	int r;

	if (fstat(source_fd, &status) < 0)
		return fail_source(err, "look at the file");
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_LOCAL_FILE_READ, "copy file", "it is no regular file");
	copy.size = status.st_size;
	copy.sparse = data_bytes(&status) < (uint64_t)status.st_size;
	copy.by_range = (budget->ways & COPY_RANGE) != 0;
	r = copy_content(&copy, &status, err);
	free(copy.piece);
	if (r < 0)
		return -1;
	if (fstat(source_fd, &status) < 0)
		return fail_source(err, "look at the file again");
	if (status.st_size < copy.size)
		return fail_changed(err, "the file became shorter while it was copied");
	return 0;
}
