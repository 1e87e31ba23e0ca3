/*
 * The sweep: what a supervisor that was killed left behind. Groups are known by their names (group_name.h); one whose
 * maker is dead is killed and removed with all that is in it.
 *
 * Race: the lock on the directory is taken here before anything is done, without waiting. Who gets it is alone: a
 * living maker of another pid namespace holds it shared, and so does another sweep.
 *
 * Other users' groups, which may not be opened or removed, are theirs to sweep and no failure.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/group_name.h"
#include "cgroup/group_tree.h"
#include "cgroup/lock.h"

#define SWEEP_NS (2 * NS_PER_S)

static void close_directory(DIR **directory)
{
	if (*directory != NULL)
		closedir(*directory);
}

/* 1: removed; 0: not ours to remove; -1 with errno. */
static int sweep_one(int base_fd, const char *name, uint64_t deadline_ns)
{
	struct group_maker maker;
	cleanup_close int fd = -1;
	cleanup_close int lock = -1;

	if (!group_name_parse(name, &maker) || group_maker_lives(maker))
		return 0;
	fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	lock = lock_at_once(fd);
	if (lock < 0)
		return 0;
	if (group_tree_kill(fd) < 0 || group_tree_remove(base_fd, name, deadline_ns) < 0)
		return errno == EACCES || errno == EPERM ? 0 : -1;
	return 1;
}

int group_sweep(const char *base, size_t *ret_removed, struct error *err)
{
	cleanup_close int base_fd = group_base_open(base, err);

	return base_fd < 0 ? -1 : group_sweep_at(base_fd, base, ret_removed, err);
}

int group_sweep_at(int fd, const char *base, size_t *ret_removed, struct error *err)
{
	cleanup_close int base_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(close_directory))) DIR *directory = NULL;
	uint64_t deadline_ns = monotime_after_ns(SWEEP_NS);
	const struct dirent *entry;
	size_t n = 0;
	int failure = 0;

	directory = base_fd < 0 ? NULL : fdopendir(base_fd);
	if (directory == NULL)
		return error_set_errno(err, group_error_code(errno), errno, "read cgroup", "cannot list %s", base);
	(void)steal_fd(&base_fd);
	while ((entry = readdir(directory)) != NULL) {
		int swept = sweep_one(dirfd(directory), entry->d_name, deadline_ns);

		n += swept > 0;
		if (swept < 0 && failure == 0)
			failure = errno;
	}
	if (failure != 0)
		return error_set_errno(err, ERROR_IO, failure, "rmdir cgroup", "cannot remove a dead group in %s", base);
	*ret_removed = n;
	return 0;
}
