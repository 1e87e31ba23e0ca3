/*
 * A group is a directory below the base, made by mkdirat beneath a held descriptor, and from then on only touched
 * through its own descriptor: whatever is mounted or renamed above it meanwhile, it stays the same group.
 *
 * Where the base is comes from the caller's environment (PINFOLD_CGROUP) or from proc (location.c). Either is trusted
 * only as far as the kernel confirms it: the path is walked without following a symlink, and what is found there must
 * be a cgroup version 2 file system. Version 1 is never touched.
 *
 * Race: a sweep by another process may come between our mkdir and the end of group_make. It finds a maker that lives,
 * by the name, and leaves the directory alone; a sweep in another pid namespace, which cannot see the maker, finds the
 * lock that is held on the directory as long as the group is, and that the kernel lets go when the maker dies.
 */
#include "cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "cgroup/group_base.h"
#include "cgroup/group_name.h"
#include "cgroup/group_tree.h"
#include "cgroup/lock.h"
#include "cgroup/usage.h"

#define REMOVE_NS     (2 * NS_PER_S)
#define REMOVE_END_NS (50 * NS_PER_MS)
#define MAKE_TRIES    64
#define INNER_NAME    "command"

struct group {
	int base_fd;
	int base_lock; /* as long as a group lives, nobody takes the base's controllers away (place.c) */
	int fd;
	int lock;     /* nor the group itself (sweep.c) */
	int inner_fd; /* -1: none */
	char name[GROUP_NAME_MAX];
	bool removed;
	bool waited; /* group_remove has already waited its full time in vain */
};

static int make_directory(int base_fd, char name[GROUP_NAME_MAX], struct error *err)
{
	struct group_maker maker;

	if (group_maker_self(&maker, err) < 0)
		return -1;
	/* The clock serves as counter: no state is shared between threads, and a clash is seen by mkdir. */
	for (int i = 0; i < MAKE_TRIES; i++) {
		group_name_format(maker, monotime_ns(), name, GROUP_NAME_MAX);
		if (group_base_mkdir(base_fd, name) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return error_set_errno(err, group_error_code(errno), errno, "mkdir cgroup", "cannot make a cgroup");
}

static int open_directory(struct group *group, struct error *err)
{
	group->fd = openat(group->base_fd, group->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group->fd < 0)
		return error_set_errno(
			err, group_error_code(errno), errno, "open cgroup", "cannot open the cgroup %s", group->name);
	group->lock = lock_shared(group->fd, err);
	return group->lock < 0 ? -1 : 0;
}

/* Threat: who mounts the inner group's file system could make groups in it without number, or put init into one and
 * freeze it there, and with it all that ends the tree. */
static int forbid_groups(const struct group *group, struct error *err)
{
	cleanup_close int fd = openat(group->fd, "cgroup.max.depth", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fd_write_all(fd, "1", 1) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "cgroup.max.depth",
			"the command could make cgroups of its own");
	return 0;
}

static int make_inner(struct group *group, struct error *err)
{
	if (forbid_groups(group, err) < 0)
		return -1;
	if (group_base_mkdir(group->fd, INNER_NAME) == 0)
		group->inner_fd = openat(group->fd, INNER_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group->inner_fd < 0)
		return error_set_errno(
			err, group_error_code(errno), errno, "mkdir cgroup", "cannot make a cgroup in %s", group->name);
	return 0;
}

static int open_base(struct group *group, const char *base, struct error *err)
{
	group->base_fd = group_base_open(base, err);
	if (group->base_fd < 0)
		return -1;
	group->base_lock = lock_shared(group->base_fd, err);
	return group->base_lock < 0 ? -1 : 0;
}

int group_make(const char *base, bool inner, struct group **ret_group, struct error *err)
{
	cleanup_with(group_freep) struct group *group = calloc(1, sizeof *group);

	if (group == NULL)
		return error_no_memory(err);
	*group = (struct group){.base_fd = -1, .base_lock = -1, .fd = -1, .lock = -1, .inner_fd = -1, .removed = true};
	if (open_base(group, base, err) < 0 || make_directory(group->base_fd, group->name, err) < 0)
		return error_prefix(err, "%s", base);
	group->removed = false;
	if (open_directory(group, err) < 0 || (inner && make_inner(group, err) < 0))
		return error_prefix(err, "%s", base);
	*ret_group = steal_ptr(&group);
	return 0;
}

int group_fd(const struct group *group)
{
	return group->inner_fd >= 0 ? group->inner_fd : group->fd;
}

int group_limits_fd(const struct group *group)
{
	return group->fd;
}

const char *group_name(const struct group *group)
{
	return group->name;
}

int group_kill(struct group *group)
{
	return group->removed ? 0 : group_tree_kill(group->fd);
}

int group_cpu_usage(struct group *group, uint64_t *ret_user_ns, uint64_t *ret_system_ns, struct error *err)
{
	cleanup_buf struct buf text = {0};

	if (fd_read_file(group->fd, "cpu.stat", USAGE_TEXT_MAX, &text, err) < 0)
		return -1;
	if (!usage_parse_cpu(buf_str(&text), ret_user_ns, ret_system_ns))
		return error_set(err, ERROR_IO, "read cpu.stat", "cpu.stat of a cgroup has no user_usec or system_usec");
	return 0;
}

static void read_number(const struct group *group, const char *name, uint64_t *ret_value)
{
	cleanup_buf struct buf text = {0};

	*ret_value = GROUP_UNKNOWN;
	if (fd_read_file(group->fd, name, USAGE_TEXT_MAX, &text, NULL) < 0 ||
		!usage_parse_number(buf_str(&text), ret_value))
		*ret_value = GROUP_UNKNOWN;
}

static void read_value(const struct group *group, const char *name, const char *key, uint64_t *ret_value)
{
	cleanup_buf struct buf text = {0};

	*ret_value = GROUP_UNKNOWN;
	if (fd_read_file(group->fd, name, USAGE_TEXT_MAX, &text, NULL) < 0 ||
		!usage_parse_value(buf_str(&text), key, ret_value))
		*ret_value = GROUP_UNKNOWN;
}

void group_read_figures(struct group *group, struct group_figures *ret_figures)
{
	read_number(group, "memory.peak", &ret_figures->memory_peak_bytes);
	read_number(group, "pids.peak", &ret_figures->processes_peak);
	read_value(group, "memory.events", "oom", &ret_figures->memory_oom);
	read_value(group, "memory.events", "oom_kill", &ret_figures->memory_oom_kills);
	read_value(group, "pids.events", "max", &ret_figures->forks_refused);
}

int group_remove(struct group *group, struct error *err)
{
	if (group->removed)
		return 0;
	if (group_tree_remove(group->base_fd, group->name, monotime_after_ns(REMOVE_NS)) < 0) {
		group->waited = errno == EBUSY;
		return error_set_errno(err, ERROR_IO, errno, "rmdir cgroup", "cannot remove the cgroup %s", group->name);
	}
	group->removed = true;
	return 0;
}

struct group *group_free(struct group *group)
{
	if (group == NULL)
		return NULL;
	/* Most trees are dead by now, and left nothing in the group that would have to be looked for. */
	if (!group->removed && unlinkat(group->base_fd, group->name, AT_REMOVEDIR) < 0) {
		/* What cannot be removed now, nobody can be told of; it is unlocked here and the next sweep takes it. */
		(void)group_tree_kill(group->fd);
		(void)group_tree_remove(
			group->base_fd, group->name, monotime_after_ns(group->waited ? REMOVE_END_NS : REMOVE_NS));
	}
	fd_close(group->inner_fd);
	fd_close(group->lock);
	fd_close(group->base_lock);
	fd_close(group->fd);
	fd_close(group->base_fd);
	free(group);
	return NULL;
}
