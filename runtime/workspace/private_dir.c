/*
 * Whoever is killed leaves the private directory behind. So its maker holds a lock on it (flock, which the kernel takes
 * back), and whoever makes the next one beside it removes those that nobody holds.
 *
 * What its maker replaced of the caller's lies in it, too, once things are put into their places: from then on it has
 * another name, and is nobody's to remove but its maker's and the caller's.
 *
 * Race: between making and locking nobody holds it, so one that is younger than a minute is left alone.
 *
 * Threat: where others may write to the parent, they can give any directory of ours such a name, and it would be
 * removed for them. There nothing is swept. Threat: the name that was made may be exchanged for another directory
 * before it is opened: what was opened must be ours and closed to others.
 */
#include "runtime/workspace/private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "base/str.h"
#include "base/tree.h"

#define ATTEMPTS    16
#define YOUNG_S     60
#define OTHERS_MODE 0077
#define DIGITS      16

static int fail(const char *what, struct error *err)
{
	return error_set_errno(err, errno == EACCES || errno == EPERM ? ERROR_PERMISSION_DENIED : ERROR_IO, errno,
		"private directory", "cannot %s a directory to build in", what);
}

static bool is_private(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & OTHERS_MODE) == 0;
}

static bool is_left_behind(int parent_fd, const char *name)
{
	cleanup_close int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && is_private(&st) &&
		(int64_t)(realtime_ns() / NS_PER_S) - st.st_mtime >= YOUNG_S && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void close_directory(DIR **directory)
{
	if (*directory != NULL)
		(void)closedir(*directory);
}

/* What cannot be removed is in nobody's way: it stays for the next one. */
static void remove_left(int parent_fd, const char *name)
{
	struct error refused;

	if (tree_remove(parent_fd, name, &refused) < 0)
		return;
}

static void sweep(int parent_fd, const char *prefix)
{
	cleanup_close int fd = openat(parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(close_directory))) DIR *directory = NULL;
	const struct dirent *entry;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return;
	directory = fdopendir(fd);
	if (directory == NULL)
		return;
	(void)steal_fd(&fd);
	while ((entry = readdir(directory)) != NULL) {
		if (str_starts_with(entry->d_name, prefix) && is_left_behind(parent_fd, entry->d_name))
			remove_left(parent_fd, entry->d_name);
	}
}

/* 1: the name is taken. */
static int make_one(int parent_fd, const char *prefix, char name[PRIVATE_DIR_NAME_SIZE], struct error *err)
{
	unsigned long long number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return fail("name", err);
	(void)snprintf(name, PRIVATE_DIR_NAME_SIZE, "%s%016llx", prefix, number);
	if (mkdirat(parent_fd, name, 0700) == 0)
		return 0;
	if (errno == EEXIST)
		return 1;
	return fail("make", err);
}

/* Whatever the umask is: one that takes the owner's rights leaves a directory that cannot be opened. */
static int give_rights(int place)
{
	char path[40];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", place);
	return chmod(path, 0700);
}

static int open_made(int parent_fd, const char *name, struct error *err)
{
	cleanup_close int place = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_close int fd = -1;
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		return fail("open", err);
	if (!is_private(&st))
		return error_set(
			err, ERROR_IO, "private directory", "somebody exchanges directories beside what is built");
	if ((st.st_mode & 0700) != 0700 && give_rights(place) < 0)
		return fail("open", err);
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail("open", err);
	/* Fallback: a file system without locks only keeps what is left behind. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	return steal_fd(&fd);
}

int private_dir_keep(int parent_fd, char name[PRIVATE_DIR_NAME_SIZE], struct error *err)
{
	char kept[PRIVATE_DIR_NAME_SIZE];

	(void)snprintf(kept, sizeof kept, "%s%s", PRIVATE_DIR_KEPT_PREFIX, name + strlen(name) - DIGITS);
	if (renameat2(parent_fd, name, parent_fd, kept, RENAME_NOREPLACE) < 0)
		return fail("rename", err);
	memcpy(name, kept, sizeof kept);
	return 0;
}

int private_dir_make(int parent_fd, const char *prefix, char ret_name[PRIVATE_DIR_NAME_SIZE], struct error *err)
{
	char name[PRIVATE_DIR_NAME_SIZE];
	int r = 1;
	int fd;

	sweep(parent_fd, prefix);
	for (int i = 0; i < ATTEMPTS && r > 0; i++)
		r = make_one(parent_fd, prefix, name, err);
	if (r > 0)
		return error_set(err, ERROR_IO, "private directory", "%d random names are all taken", ATTEMPTS);
	if (r < 0)
		return -1;
	fd = open_made(parent_fd, name, err);
	if (fd < 0) {
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
		return -1;
	}
	memcpy(ret_name, name, sizeof name);
	return fd;
}
