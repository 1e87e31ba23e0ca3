/*
 * Going down a tree and coming back, with one descriptor.
 *
 * Threat: a tree may be deeper than a process may have descriptors, or than a path may be long. So the directories
 * above are not kept open: they are remembered by device and inode, and found again by "..".
 *
 * Race: whoever owns the tree may move the directory that we are in elsewhere; its ".." is another directory then,
 * which may lie outside. It is only opened as a place, which needs and gives nothing, and compared with what is
 * remembered before anything is done there.
 */
#include "base/climber.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int climber_begin(struct climber *climber, int dirfd)
{
	climber->fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return climber->fd < 0 ? -1 : 0;
}

static int make_room(struct climber *climber)
{
	size_t wanted = climber->allocated > 0 ? 2 * climber->allocated : 32;
	struct climber_place *above;

	if (climber->depth < climber->allocated)
		return 0;
	above = reallocarray(climber->above, wanted, sizeof *above);
	if (above == NULL)
		return -1;
	climber->above = above;
	climber->allocated = wanted;
	return 0;
}

int climber_down(struct climber *climber, const char *name)
{
	struct stat status;
	int below;

	if (make_room(climber) < 0 || fstat(climber->fd, &status) < 0)
		return -1;
	below = openat(climber->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return -1;
	climber->above[climber->depth++] = (struct climber_place){.dev = status.st_dev, .ino = status.st_ino};
	(void)fd_close(climber->fd);
	climber->fd = below;
	return 0;
}

int climber_up(struct climber *climber)
{
	cleanup_close int up = openat(climber->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct climber_place *place = &climber->above[climber->depth - 1];
	struct stat status;

	if (up < 0 || fstat(up, &status) < 0)
		return -1;
	if (status.st_dev != place->dev || status.st_ino != place->ino) {
		errno = ESTALE;
		return -1;
	}
	climber->depth--;
	(void)fd_close(climber->fd);
	climber->fd = steal_fd(&up);
	return 0;
}

void climber_done(struct climber *climber)
{
	(void)fd_close(climber->fd);
	climber->fd = -1;
	free(climber->above);
	climber->above = NULL;
}
