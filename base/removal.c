/*
 * Removal by descriptor.
 *
 * Threat: while this runs, the command may swap a directory for a link to the caller's home, move the directory that is
 * being emptied to another place, or make new entries faster than they are removed. Every step therefore works on a
 * descriptor and one name: opened without following links, on the same mount as its parent, and never by a path of two
 * components. A directory without rights is opened as a mere place first and made accessible through that descriptor.
 *
 * Threat: a tree of many levels or names takes long to delete, and some of it may not be ours to delete. So the name is
 * freed first, by a rename in its directory, which takes the same time whatever hangs below; what is deleted
 * afterwards, or never, hurts nobody under the name that it has then.
 *
 * A tree is deleted from the top, without recursion: files are unlinked, and each directory of the second level is
 * moved up into the first under a fresh name. So every directory is moved once at most, two levels are open at a time,
 * and the depth that somebody gave the tree does not matter. An entry that resists is passed over. It ends where
 * a whole pass changed nothing, or with the budget.
 */
#include "base/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TAKE_ROUNDS 8

/* One deletion. `changed` counts what was removed or moved in this pass. */
struct deletion {
	int top;
	size_t *budget;
	size_t changed;
};

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

/* A directory has to be writable itself to be moved elsewhere, because its ".." changes. */
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

static int fresh_name(char ret_name[REMOVAL_NAME_SIZE])
{
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return -1;
	(void)snprintf(ret_name, REMOVAL_NAME_SIZE, REMOVAL_PREFIX "%016llx", (unsigned long long)number);
	return 0;
}

/* Fallback: a file system that knows no RENAME_NOREPLACE; nobody can have guessed the name. */
static int move_to_fresh(int from, const char *name, int to, char ret_name[REMOVAL_NAME_SIZE])
{
	if (fresh_name(ret_name) < 0)
		return -1;
	if (renameat2(from, name, to, ret_name, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? renameat(from, name, to, ret_name) : -1;
}

/* True where it is gone, whoever did it. */
static bool unlink_any(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return true;
	return unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

int removal_take_away(int dirfd, const char *name, char ret_name[REMOVAL_NAME_SIZE])
{
	for (unsigned round = 0; round < TAKE_ROUNDS; round++) {
		if (unlink_any(dirfd, name))
			return REMOVAL_GONE;
		if (move_to_fresh(dirfd, name, dirfd, ret_name) == 0)
			return REMOVAL_ASIDE;
		if (errno == EACCES && removal_make_accessible(dirfd) < 0) {
			errno = EACCES;
			return -1;
		}
		if (errno != EACCES && errno != ENOENT && errno != EEXIST)
			return -1;
	}
	return -1;
}

int removal_set_aside(int dirfd, const char *name, char ret_name[REMOVAL_NAME_SIZE])
{
	for (unsigned round = 0; round < TAKE_ROUNDS; round++) {
		if (move_to_fresh(dirfd, name, dirfd, ret_name) == 0)
			return 0;
		if (errno == EACCES && removal_make_accessible(dirfd) < 0)
			errno = EPERM;
		if (errno != EACCES && errno != EEXIST)
			return -1;
	}
	return -1;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (copy < 0)
		return NULL;
	dir = fdopendir(copy);
	if (dir == NULL)
		(void)close(copy);
	return dir;
}

/* Calls handle for each entry of fd while there is budget. A directory that cannot be listed has none. */
static void for_each_entry(struct deletion *deletion, int fd, void (*handle)(struct deletion *, int, const char *))
{
	__attribute__((cleanup(close_dir))) DIR *dir = list(fd);
	struct dirent *entry;

	while (dir != NULL && *deletion->budget > 0 && (entry = readdir(dir)) != NULL) {
		if (is_dot(entry->d_name))
			continue;
		(*deletion->budget)--;
		handle(deletion, fd, entry->d_name);
	}
}

static void remove_or_raise(struct deletion *deletion, int fd, const char *name)
{
	char fresh[REMOVAL_NAME_SIZE];
	cleanup_close int below = -1;

	if (unlink_any(fd, name)) {
		deletion->changed++;
		return;
	}
	below = open_below(fd, name);
	if (below >= 0 && move_to_fresh(fd, name, deletion->top, fresh) == 0)
		deletion->changed++;
}

static void remove_or_flatten(struct deletion *deletion, int fd, const char *name)
{
	cleanup_close int below = -1;

	if (unlink_any(fd, name)) {
		deletion->changed++;
		return;
	}
	below = open_below(fd, name);
	if (below < 0)
		return;
	for_each_entry(deletion, below, remove_or_raise);
	if (unlinkat(fd, name, AT_REMOVEDIR) == 0)
		deletion->changed++;
}

enum removal_result removal_delete(int dirfd, const char *name, size_t *budget)
{
	cleanup_close int top = -1;

	if (unlink_any(dirfd, name))
		return REMOVAL_DONE;
	top = open_below(dirfd, name);
	if (top < 0)
		return unlink_any(dirfd, name) ? REMOVAL_DONE : REMOVAL_STUCK;
	return removal_delete_opened(dirfd, name, top, budget);
}

enum removal_result removal_delete_opened(int dirfd, const char *name, int top, size_t *budget)
{
	struct deletion deletion = {.top = top, .budget = budget};

	do {
		deletion.changed = 0;
		for_each_entry(&deletion, top, remove_or_flatten);
		if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return REMOVAL_DONE;
	} while (*budget > 0 && deletion.changed > 0);
	return *budget == 0 ? REMOVAL_UNFINISHED : REMOVAL_STUCK;
}
