/*
 * Controllers limit the groups below a directory only when they are on in its cgroup.subtree_control, and they cannot
 * be switched on while processes are in the directory itself, the root of the hierarchy excepted. Who starts pinfold in
 * a delegated cgroup has put it into just that directory; so this process goes into a leaf of it, as every manager of
 * delegated groups does. Others are never moved: they are not ours.
 *
 * What is switched on stays on, for whoever else makes groups there may have come to rely on it; but where this process
 * had to move, the directory has become one into which its manager can put no process any more, and that is taken
 * back at the end, if nobody else has made a group there meanwhile.
 *
 * Race: groups hold a shared lock on their place from before they are made (group.c), so whoever gets the exclusive one
 * is alone with it, and a controller is never taken from a group that limits somebody.
 */
#include "cgroup/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/lock.h"

#define TEXT_MAX  65536
#define PROCS_MAX (1u << 20)

static void set_lack(struct place *place, enum controller controller, int sys_errno, const char *step, const char *detail)
{
	struct place_lack *lack = &place->lacks[controller];

	*lack = (struct place_lack){.sys_errno = sys_errno};
	(void)snprintf(lack->step, sizeof lack->step, "%s", step);
	(void)snprintf(lack->detail, sizeof lack->detail, "%s", detail);
}

static int read_set(int fd, const char *name, unsigned *ret_set, struct error *err)
{
	cleanup_buf struct buf text = {0};

	if (fd_read_file(fd, name, TEXT_MAX, &text, err) < 0)
		return -1;
	*ret_set = controllers_parse(buf_str(&text));
	return 0;
}

/* 0, or -1 with errno. */
static int write_text(int dirfd, const char *name, const char *text)
{
	cleanup_close int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

static int turn(const struct place *place, enum controller controller, char sign)
{
	char command[32];

	(void)snprintf(command, sizeof command, "%c%s", sign, controller_name(controller));
	return write_text(place->fd, "cgroup.subtree_control", command);
}

/* Whether this process, and no other, is in the group. */
static bool is_alone(int fd)
{
	cleanup_buf struct buf text = {0};
	char *end = NULL;

	if (fd_read_file(fd, "cgroup.procs", PROCS_MAX, &text, NULL) < 0)
		return false;
	return strtol(buf_str(&text), &end, 10) == getpid() && strcmp(end, "\n") == 0;
}

static int move_into(int fd)
{
	return write_text(fd, "cgroup.procs", "0");
}

static int move_aside(struct place *place)
{
	cleanup_close int leaf = -1;

	if (group_base_mkdir(place->fd, PLACE_SUPERVISOR) < 0 && errno != EEXIST)
		return -1;
	leaf = openat(place->fd, PLACE_SUPERVISOR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (leaf < 0 || move_into(leaf) < 0)
		return -1;
	place->moved = true;
	return 0;
}

/* Whether processes are in the group itself. The root of the hierarchy, which alone has no cgroup.type, may have some. */
static bool is_in_the_way(int fd, bool *ret_alone)
{
	cleanup_buf struct buf text = {0};

	*ret_alone = false;
	if (faccessat(fd, "cgroup.type", F_OK, 0) < 0)
		return false;
	if (fd_read_file(fd, "cgroup.procs", PROCS_MAX, &text, NULL) == 0 && text.size == 0)
		return false;
	*ret_alone = is_alone(fd);
	return true;
}

/* Order: out of the way before anything is switched on. The kernel would take cpu and pids with processes in the group,
 * and make a threaded domain of it, in whose groups no process can be ("domain invalid"). 0, or -1 with the lack. */
static int clear_the_way(struct place *place, unsigned controllers)
{
	const char *detail = "the controller cannot be switched on, for other processes are in the cgroup itself";
	bool alone;

	if (!is_in_the_way(place->fd, &alone))
		return 0;
	errno = EBUSY;
	if (alone) {
		detail = "this process cannot leave the cgroup for one below it";
		if (move_aside(place) == 0)
			return 0;
	}
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((controllers & CONTROLLER_BIT(i)) != 0)
			set_lack(place, i, errno, "cgroup.subtree_control", detail);
	}
	return -1;
}

static void switch_on(struct place *place, unsigned controllers)
{
	if (controllers == 0 || clear_the_way(place, controllers) < 0)
		return;
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((controllers & CONTROLLER_BIT(i)) != 0 && turn(place, i, '+') < 0)
			set_lack(place, i, errno, "cgroup.subtree_control",
				"the controller cannot be switched on for groups below");
	}
}

static int prepare(struct place *place, unsigned wanted, struct error *err)
{
	unsigned listed = 0;
	unsigned on = 0;
	unsigned missing = 0;

	if (read_set(place->fd, "cgroup.controllers", &listed, err) < 0 ||
		read_set(place->fd, "cgroup.subtree_control", &on, err) < 0)
		return -1;
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((on & CONTROLLER_BIT(i)) != 0)
			continue;
		if ((listed & CONTROLLER_BIT(i)) == 0)
			set_lack(place, i, 0, "cgroup.controllers",
				"the cgroup below which ours are made does not have the controller");
		else if ((wanted & CONTROLLER_BIT(i)) == 0)
			set_lack(place, i, 0, "cgroup.subtree_control",
				"the controller is there, but not switched on for groups below");
		else
			missing |= CONTROLLER_BIT(i);
	}
	place->on = on;
	if (missing == 0)
		return 0;
	switch_on(place, missing);
	return read_set(place->fd, "cgroup.subtree_control", &place->on, err);
}

int place_open(const char *path, unsigned wanted, struct place *ret_place, struct error *err)
{
	struct place place = PLACE_INIT;
	size_t swept;
	int unswept;

	if (strlen(path) >= sizeof place.path)
		return error_set(err, ERROR_LIMIT, "find cgroup", "the path of the cgroup is too long");
	memcpy(place.path, path, strlen(path) + 1);
	place.fd = group_base_open(path, err);
	if (place.fd < 0)
		return -1;
	place.lock = lock_shared(place.fd, err);
	if (place.lock < 0 || group_base_trust(path, err) < 0 || prepare(&place, wanted, err) < 0) {
		place_close(&place);
		return -1;
	}
	/* What a dead run left is no obstacle for this one, and `pinfold gc` says what cannot be removed. */
	unswept = group_sweep_at(place.fd, path, &swept, NULL);
	(void)unswept;
	*ret_place = place;
	return 0;
}

/* Whether there is no group in the place but the one for this process. */
static bool has_no_group(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool found = false;

	if (directory == NULL) {
		(void)fd_close(copy);
		return false;
	}
	while (!found && (entry = readdir(directory)) != NULL)
		found = entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, PLACE_SUPERVISOR) != 0;
	(void)closedir(directory);
	return !found;
}

/* The exclusive lock, and nobody's group in the place. */
static bool is_ours_alone(const struct place *place)
{
	return lock_alone(place->lock) && has_no_group(place->fd);
}

static bool switch_off(const struct place *place)
{
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if ((place->on & CONTROLLER_BIT(i)) != 0 && turn(place, i, '-') < 0)
			return false;
	}
	return true;
}

/* Each step is tried only where the one before it went well; the place stays usable for groups whatever happens. */
static void move_back(struct place *place)
{
	cleanup_close int leaf = openat(place->fd, PLACE_SUPERVISOR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (leaf >= 0 && is_ours_alone(place) && is_alone(leaf) && switch_off(place) && move_into(place->fd) == 0)
		(void)unlinkat(place->fd, PLACE_SUPERVISOR, AT_REMOVEDIR);
}

void place_close(struct place *place)
{
	if (place->moved)
		move_back(place);
	(void)fd_close(place->lock);
	(void)fd_close(place->fd);
	*place = PLACE_INIT;
}

int place_recover(const char *path, struct error *err)
{
	struct place place = PLACE_INIT;
	int r = 0;

	place.fd = group_base_open(path, err);
	place.lock = place.fd < 0 ? -1 : lock_shared(place.fd, err);
	if (place.lock < 0) {
		place_close(&place);
		return -1;
	}
	/* Order: the leaf goes first, which it only does when nobody is in it; without it nothing of ours is to be undone. */
	if (faccessat(place.fd, PLACE_SUPERVISOR, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && is_ours_alone(&place) &&
		unlinkat(place.fd, PLACE_SUPERVISOR, AT_REMOVEDIR) == 0) {
		r = read_set(place.fd, "cgroup.subtree_control", &place.on, err);
		if (r == 0)
			(void)switch_off(&place);
	}
	place_close(&place);
	return r;
}
