/*
 * The last look at the indexes of the workspace's repositories.
 *
 * Threat: the command makes a repository in a subdirectory, with a core.fsmonitor in its configuration, and a gitlink
 * for it in the index of the top one. `git status` at the top, on the host, goes into it and runs that. Gitlinks are
 * nothing bad, and a repository in a subdirectory is none either: but both together, where the `.git` was not there at
 * launch and so is not protected (plan/rules_gitlinks.c), are given up. The `.git` gets another name, under which git
 * does not find it.
 * Threat: an index that git may read in another way than we do can hide a gitlink. Where it was in order at launch, it
 * is set aside as well: `git reset` makes it anew from the last commit.
 * Threat: names are changed with the rights of the workspace's owner, as in guard_look.c, and a directory that the
 * command has made inaccessible is opened again, for the owner may do the same at any time.
 *
 * Race: the host can look while the run goes on. How long the window is, is in docs/threat-model.md. Order: violations
 * are told to the caller, so never while this thread has narrow rights.
 */
#include "runtime/supervise/gitlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/removal.h"
#include "base/str.h"
#include "runtime/plan/git_links.h"
#include "runtime/plan/path_set.h"
#include "runtime/supervise/rights.h"

#define CHECKOUT_SIZE (2 * (size_t)PATH_MAX + sizeof "//.git")

struct finish {
	const struct plan *plan;
	struct violations *violations;
	const struct guard_hooks *hooks;
	struct arena *arena;
	const struct plan_git *place;
	int slash;
	struct path_set known; /* `.git` files that were there at launch */
};

static int make_accessible(const struct finish *finish, int dirfd, struct error *err)
{
	struct rights rights = {0};
	struct error refused = {0};

	if (rights_narrow_for(finish->plan, &rights, &refused) == 0)
		(void)removal_make_accessible(dirfd); /* where it may not, opening says so */
	return rights_widen(&rights, err);
}

/* One step down, without following links. *ret_fd is -1 with errno where that leads nowhere. */
static int step(const struct finish *finish, int dirfd, const char *name, int *ret_fd, struct error *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	*ret_fd = openat(dirfd, name, flags);
	if (*ret_fd >= 0 || errno != EACCES)
		return 0;
	if (make_accessible(finish, dirfd, err) < 0)
		return -1;
	*ret_fd = openat(dirfd, name, flags);
	return 0;
}

static int walk_in_steps(const struct finish *finish, int dirfd, const char *path, int *ret_fd, struct error *err)
{
	cleanup_close int fd = openat(dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	while (fd >= 0 && *(path += strspn(path, "/")) != '\0') {
		size_t size = strcspn(path, "/");
		int next;

		memcpy(name, path, size); /* git_links.c takes no longer one */
		name[size] = '\0';
		path += size;
		if (step(finish, fd, name, &next, err) < 0)
			return -1;
		cleanup_close_fd(&fd);
		fd = next;
	}
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* Threat: an index may have many names of many steps, so all steps are made at once where nothing is to be opened. */
static int walk(const struct finish *finish, int dirfd, const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = beneath_open(dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	return *ret_fd >= 0 || errno != EACCES ? 0 : walk_in_steps(finish, dirfd, path, ret_fd, err);
}

/* For people: below the workspace where it lies there. */
static const char *tell_path(const struct finish *finish, const char *directory, const char *name)
{
	const char *workspace = finish->plan->workspace;
	const char *path = arena_printf(finish->arena, "%s/%s", directory, name);
	size_t size = workspace == NULL ? 0 : strlen(workspace);

	if (path != NULL && size > 1 && strncmp(path, workspace, size) == 0 && path[size] == '/')
		path += size + 1;
	return path;
}

static int record(const struct finish *finish, const char *kind, const char *directory, const char *name,
	const char *action, struct error *err)
{
	const char *path = tell_path(finish, directory, name);

	return path == NULL ? error_no_memory(err) : violations_add(finish->violations, kind, path, action, err);
}

static int fail(const struct finish *finish, const char *directory, const char *name, int sys_errno, struct error *err)
{
	struct error why = {0};

	(void)error_set_errno(&why, ERROR_IO, sys_errno, "gitlinks",
		"%s/%s leads git on the host to what the command made, and cannot be set aside", directory, name);
	why.code = ERROR_UNENFORCEABLE;
	error_set_fix(&why, "do not use git there before it is moved away");
	if (record(finish, "planted", directory, name, "none", err) < 0)
		return -1;
	return finish->hooks->lost(finish->hooks->userdata, &why, err);
}

static int set_aside(const struct finish *finish, int dirfd, const char *directory, const char *name, struct error *err)
{
	char aside[REMOVAL_NAME_SIZE];
	struct rights rights = {0};
	struct error refused = {0};
	int r, sys_errno;

	if (rights_narrow_for(finish->plan, &rights, &refused) < 0)
		return fail(finish, directory, name, refused.sys_errno, err);
	r = removal_set_aside(dirfd, name, aside);
	sys_errno = errno;
	if (rights_widen(&rights, err) < 0)
		return -1;
	if (r < 0)
		return sys_errno == ENOENT ? 0 : fail(finish, directory, name, sys_errno, err);
	if (record(finish, "planted", directory, name, "set_aside", err) < 0)
		return -1;
	return record(finish, "left_behind", directory, aside, "set_aside", err);
}

static bool is_below(const char *path, const char *ancestor)
{
	size_t size = strlen(ancestor);

	return strcmp(ancestor, "/") == 0 || (strncmp(path, ancestor, size) == 0 && path[size] == '/');
}

/* The index of a repository around the workspace the command cannot have written. */
static bool may_set_index_aside(const struct finish *finish)
{
	const struct plan_git *place = finish->place;

	return !place->strange && !place->read_only;
}

/* Outside of the workspace the command has made none. */
static int take_link(const struct finish *finish, int checkout_fd, const char *name, struct error *err)
{
	char checkout[CHECKOUT_SIZE];
	int size = snprintf(checkout, sizeof checkout, "%s/%s/.git", finish->place->checkout, name);
	cleanup_close int fd = -1;
	struct stat st;

	if (size < 0 || (size_t)size >= sizeof checkout)
		return fail(finish, finish->place->checkout, name, ENAMETOOLONG, err);
	if (path_set_has(&finish->known, checkout))
		return 0;
	checkout[(size_t)size - strlen("/.git")] = '\0';
	if (!is_below(checkout, finish->plan->workspace))
		return 0;
	if (walk(finish, checkout_fd, name, &fd, err) < 0)
		return -1;
	if (fd < 0)
		return errno == EACCES ? fail(finish, checkout, ".git", EACCES, err) : 0;
	if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == EACCES && make_accessible(finish, fd, err) < 0)
		return -1;
	if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES ? fail(finish, checkout, ".git", EACCES, err) : 0;
	return set_aside(finish, fd, checkout, ".git", err);
}

static int take_place(const struct finish *finish, struct error *err)
{
	const struct plan_git *place = finish->place;
	cleanup_close int checkout_fd = -1, directory_fd = -1;
	struct git_links links;

	if (walk(finish, finish->slash, place->checkout, &checkout_fd, err) < 0 ||
		walk(finish, finish->slash, place->directory, &directory_fd, err) < 0)
		return -1;
	if (checkout_fd < 0 || directory_fd < 0)
		return 0; /* then git finds no index either */
	if (faccessat(directory_fd, ".", X_OK, AT_EACCESS) < 0 && make_accessible(finish, directory_fd, err) < 0)
		return -1;
	links = git_links_read(finish->arena, directory_fd, checkout_fd, place->hash_size);
	if (links.wrong != NULL && may_set_index_aside(finish) &&
		set_aside(finish, directory_fd, place->directory, "index", err) < 0)
		return -1;
	for (size_t i = 0; i < links.n; i++) {
		if (links.list[i] == NULL)
			return error_no_memory(err);
		if (take_link(finish, checkout_fd, links.list[i], err) < 0)
			return -1;
	}
	return arena_check(finish->arena, err);
}

int gitlinks_finish(
	const struct plan *plan, struct violations *violations, const struct guard_hooks *hooks, struct error *err)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct finish finish = {.plan = plan, .violations = violations, .hooks = hooks, .slash = slash};

	if (plan->n_git == 0)
		return 0;
	if (slash < 0)
		return error_set_errno(err, ERROR_IO, errno, "gitlinks", "cannot open /");
	if (arena_new(&arena, err) < 0)
		return -1;
	finish.arena = arena;
	for (size_t i = 0; i < plan->n_git_known; i++)
		(void)path_set_add(&finish.known, arena, plan->git_known[i]);
	if (arena_check(arena, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_git; i++) {
		finish.place = &plan->git[i];
		if (take_place(&finish, err) < 0)
			return -1;
	}
	return 0;
}
