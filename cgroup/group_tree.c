/*
 * A group's files vanish with it, so only directories need removing, deepest first; rmdir gives EBUSY as long as a task
 * is in one, and a killed task stays in it until it is dead.
 *
 * Threat: a tree that may write to its group can make sub-groups in any number and depth. The removal therefore uses two
 * descriptors whatever the depth, goes down from the top for each leaf, follows no symlink, and ends at the deadline.
 */
#include "cgroup/group_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"

#define PAUSE_MIN_NS (NS_PER_MS / 4)
#define PAUSE_MAX_NS (20 * NS_PER_MS)

static void close_directory(DIR **directory)
{
	if (*directory != NULL)
		closedir(*directory);
}

/* Threat: a group may be called ".x", so only the two names that every directory has are left out. */
static bool is_child(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* 1 with the name of some directory in `fd`, 0 where there is none, -1 with errno. */
static int find_child(int fd, char name[NAME_MAX + 1])
{
	__attribute__((cleanup(close_directory))) DIR *directory = NULL;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	if (copy < 0)
		return -1;
	directory = fdopendir(copy);
	if (directory == NULL) {
		close(copy);
		return -1;
	}
	while (errno = 0, (entry = readdir(directory)) != NULL) {
		if (!is_child(entry))
			continue;
		memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
		return 1;
	}
	return errno == 0 ? 0 : -1;
}

/* Goes down from `name` by first children and removes the leaf. 1: that was `name` itself, 0: a leaf below it. */
static int remove_leaf(int base_fd, const char *name)
{
	cleanup_close int parent = -1;
	char leaf[NAME_MAX + 1];
	char child[NAME_MAX + 1];

	if (strlen(name) > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(leaf, name, strlen(name) + 1);
	for (bool top = true;; top = false) {
		int at = top ? base_fd : parent;
		cleanup_close int fd = openat(at, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int found = fd < 0 ? -1 : find_child(fd, child);

		if (found < 0)
			return -1;
		if (found == 0)
			return unlinkat(at, leaf, AT_REMOVEDIR) == 0 ? top : -1;
		fd_close(parent);
		parent = steal_fd(&fd);
		memcpy(leaf, child, sizeof leaf);
	}
}

static void pause_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = 0, .tv_nsec = (long)ns};

	(void)nanosleep(&time, NULL);
}

/* What time, or the next look, may mend: a task still dying, a directory made or gone between look and act. */
static bool may_pass(int number)
{
	return number == EBUSY || number == ENOTEMPTY || number == ENOENT || number == ENODEV;
}

static bool is_gone(int base_fd, const char *name)
{
	return faccessat(base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

int group_tree_remove(int base_fd, const char *name, uint64_t deadline_ns)
{
	uint64_t pause = PAUSE_MIN_NS;

	for (;;) {
		int removed = remove_leaf(base_fd, name);
		int number = removed < 0 ? errno : EBUSY;

		if (removed > 0 || (removed < 0 && is_gone(base_fd, name)))
			return 0;
		if (!may_pass(number) || monotime_ns() >= deadline_ns) {
			errno = number;
			return -1;
		}
		if (removed == 0)
			continue;
		pause_ns(pause);
		pause = pause * 2 < PAUSE_MAX_NS ? pause * 2 : PAUSE_MAX_NS;
	}
}

int group_tree_kill(int fd)
{
	cleanup_close int kill_fd = openat(fd, "cgroup.kill", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	/* Fallback: before Linux 5.14 there is no such file, and the end of the pid namespace has to kill. */
	if (kill_fd < 0)
		return errno == ENOENT ? 0 : -1;
	return fd_write_all(kill_fd, "1", 1);
}
