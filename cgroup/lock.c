/*
 * Locks of open file descriptions on the directory's cgroup.procs (fcntl(2), F_OFD_SETLK). They go with the last copy
 * of the descriptor, so a killed process holds none.
 *
 * Threat: a cgroup directory can be opened for reading by anybody on the machine, by the confined command too, and
 * flock(2) would give him an exclusive lock on it, with which he could stop every run. Here the exclusive lock needs a
 * descriptor that can be written to, which the kernel gives to the owner alone, and what others can hold, the shared
 * one, keeps nobody from a shared one. At worst something that could be removed stays.
 */
#include "cgroup/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"

#define FILE_NAME "cgroup.procs"
#define WAIT_NS   (2 * NS_PER_S)

static int set_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

int lock_shared(int dirfd, struct error *err)
{
	cleanup_close int fd = openat(dirfd, FILE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	uint64_t until = monotime_after_ns(WAIT_NS);

	/* Whoever may not write to it cannot be alone in it either. */
	if (fd < 0)
		fd = openat(dirfd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "lock cgroup", "cannot open %s of the cgroup", FILE_NAME);
	while (set_lock(fd, F_RDLCK) < 0) {
		const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};

		if (errno != EINTR && ((errno != EAGAIN && errno != EACCES) || monotime_ns() >= until))
			return error_set_errno(
				err, ERROR_IO, errno, "lock cgroup", "its owner holds a lock on the cgroup");
		(void)nanosleep(&pause, NULL);
	}
	return steal_fd(&fd);
}

int lock_at_once(int dirfd)
{
	cleanup_close int fd = openat(dirfd, FILE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && lock_alone(fd) ? steal_fd(&fd) : -1;
}

bool lock_alone(int lock_fd)
{
	return set_lock(lock_fd, F_WRLCK) == 0;
}
