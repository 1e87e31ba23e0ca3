/*
 * A receipt says what was put into the workspace, so what is digested is what was built, in the private directory and
 * before it is put into its place, and not what was read.
 *
 * Threat: a file that is nearly all hole takes no room and no time to copy, and its digest takes hours. Its length
 * counts here, against the same limit as data.
 *
 * The lines of a tree have the path last and end with a NUL, which no path has in it: no two trees give the same lines.
 */
#include "runtime/workspace/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/tree.h"

#define PIECE ((size_t)256 << 10)

static int fail(const char *what, const char *path, struct error *err)
{
	char shown[200];

	return error_set_errno(
		err, ERROR_IO, errno, "fingerprint", "cannot %s %s", what, str_printable(path, shown, sizeof shown));
}

/* size: of the file, which nobody changes any more. */
static int add_content(
	int fd, const char *path, uint64_t size, struct work *work, struct sha256 *digest, struct error *err)
{
	size_t room = size < PIECE ? (size_t)size : PIECE;
	cleanup_free char *piece = malloc(room + 1);

	if (piece == NULL)
		return error_no_memory(err);
	while (size > 0) {
		ssize_t n = read(fd, piece, room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (uint64_t)n > size)
			return fail("read", path, err);
		sha256_add(digest, piece, (size_t)n);
		size -= (uint64_t)n;
		if (size > 0 && work_check(work, err) < 0)
			return -1;
	}
	return 0;
}

/* bytes: added to. */
static int digest_file(int dirfd, const char *name, const char *path, struct work *work, char ret_hex[SHA256_HEX_SIZE],
	uint64_t *bytes, struct error *err)
{
	cleanup_close int fd = beneath_open(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
	struct sha256 digest;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open", path, err);
	if ((uint64_t)st.st_size > work->bytes_max)
		return work_refuse_bytes(work, (uint64_t)st.st_size, path, err);
	sha256_begin(&digest);
	if (add_content(fd, path, (uint64_t)st.st_size, work, &digest, err) < 0)
		return -1;
	sha256_end(&digest, ret_hex);
	*bytes += (uint64_t)st.st_size;
	return 0;
}

int fingerprint_file(
	int dirfd, const char *name, struct work *work, struct fingerprint *ret_fingerprint, struct error *err)
{
	struct fingerprint made = {.files = 1};

	if (digest_file(dirfd, name, name, work, made.sha256, &made.bytes, err) < 0)
		return -1;
	*ret_fingerprint = made;
	return 0;
}

/* A walk of a tree that is being digested. */
struct walk {
	struct sha256 digest;
	struct work *work;
	struct fingerprint *made;
};

static void add_line(struct walk *walk, const struct tree_entry *entry, char kind, const char *detail)
{
	char head[32];

	(void)snprintf(head, sizeof head, "%c %04o ", kind, entry->status->st_mode & 07777);
	sha256_add(&walk->digest, head, strlen(head));
	sha256_add(&walk->digest, detail, strlen(detail));
	sha256_add(&walk->digest, " ", 1);
	sha256_add(&walk->digest, entry->path, strlen(entry->path) + 1);
}

static int add_file(struct walk *walk, const struct tree_entry *entry, struct error *err)
{
	char hex[SHA256_HEX_SIZE];

	if (digest_file(entry->dirfd, entry->name, entry->path, walk->work, hex, &walk->made->bytes, err) < 0)
		return -1;
	walk->made->files++;
	add_line(walk, entry, 'f', hex);
	return TREE_GO_ON;
}

static int add_link(struct walk *walk, const struct tree_entry *entry, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(entry->dirfd, entry->name, target, sizeof target);

	if (n < 0 || (size_t)n >= sizeof target)
		return fail("read the link", entry->path, err);
	target[n] = '\0';
	add_line(walk, entry, 'l', target);
	return TREE_GO_ON;
}

static int visit(void *ctx, const struct tree_entry *entry, struct error *err)
{
	struct walk *walk = ctx;

	if (S_ISREG(entry->status->st_mode))
		return add_file(walk, entry, err);
	if (S_ISLNK(entry->status->st_mode))
		return add_link(walk, entry, err);
	if (!S_ISDIR(entry->status->st_mode))
		return error_set(
			err, ERROR_INTERNAL, "fingerprint", "something was built that is no file, link or directory");
	add_line(walk, entry, 'd', "-");
	return work_check(walk->work, err) < 0 ? -1 : TREE_GO_ON;
}

int fingerprint_tree(
	int dirfd, const char *name, struct work *work, struct fingerprint *ret_fingerprint, struct error *err)
{
	cleanup_close int fd = beneath_open(dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	struct tree_budget budget = {.entries_max = UINT64_MAX};
	struct fingerprint made = {};
	struct walk walk = {.work = work, .made = &made};
	const struct tree_visitor visitor = {.visit = visit, .ctx = &walk};

	if (fd < 0)
		return fail("open", name, err);
	sha256_begin(&walk.digest);
	if (tree_walk(fd, &budget, &visitor, err) < 0)
		return -1;
	sha256_end(&walk.digest, made.sha256);
	*ret_fingerprint = made;
	return 0;
}
