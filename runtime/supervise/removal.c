/*
 * Removal by descriptor.
 *
 * Threat: while this runs, the command may swap a directory for a link to the caller's home, move the directory that is
 * being emptied to another place, or make new entries faster than they are removed. Every step therefore works on a
 * descriptor and one name: opened without following links, on the same mount as its parent, and never by a path of two
 * components. A directory without rights is opened as a mere place first and made accessible through that descriptor.
 * Work is bounded by a budget of names and by depth; what is left is for the next call.
 */
#include "runtime/supervise/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEPTH_MAX  128
#define ROUNDS_MAX 4

static int remove_entry(int dirfd, const char *name, size_t *budget, unsigned depth);

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static bool same_mount(int a, int b)
{
	struct statx first, second;

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &first) == 0 &&
		statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &second) == 0 && first.stx_mnt_id == second.stx_mnt_id;
}

int removal_make_accessible(int dirfd)
{
	struct stat st;
	char path[40];

	if (fstat(dirfd, &st) < 0)
		return -1;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", dirfd);
	return chmod(path, (st.st_mode & 07777) | S_IRWXU);
}

static int open_below(int dirfd, const char *name)
{
	cleanup_close int place = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (place < 0)
		return -1;
	if (!same_mount(dirfd, place)) {
		errno = EXDEV;
		return -1;
	}
	if (faccessat(place, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		(void)removal_make_accessible(place); /* where it may not, opening or removing says so */
	return openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_content(int fd, size_t *budget, unsigned depth)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	struct dirent *entry;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return -1;
	dir = fdopendir(copy);
	if (dir == NULL) {
		(void)close(copy);
		return -1;
	}
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		int r = is_dot(entry->d_name) ? REMOVAL_DONE : remove_entry(fd, entry->d_name, budget, depth + 1);

		if (r != REMOVAL_DONE)
			return r;
	}
	return REMOVAL_DONE;
}

static int remove_directory(int dirfd, const char *name, size_t *budget, unsigned depth)
{
	cleanup_close int fd = -1;

	if (depth >= DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	fd = open_below(dirfd, name);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? REMOVAL_UNFINISHED : -1;
	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		int r = remove_content(fd, budget, depth);

		if (r != REMOVAL_DONE)
			return r;
		if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return REMOVAL_DONE;
		if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
			return -1;
	}
	return REMOVAL_UNFINISHED;
}

static int remove_entry(int dirfd, const char *name, size_t *budget, unsigned depth)
{
	if (*budget == 0)
		return REMOVAL_UNFINISHED;
	(*budget)--;
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return REMOVAL_DONE;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	return remove_directory(dirfd, name, budget, depth);
}

int removal_remove(int dirfd, const char *name, size_t *budget)
{
	int r = REMOVAL_UNFINISHED;

	for (unsigned round = 0; round < ROUNDS_MAX && r == REMOVAL_UNFINISHED && *budget > 0; round++)
		r = remove_entry(dirfd, name, budget, 0);
	return r;
}
