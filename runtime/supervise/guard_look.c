/*
 * Looking along the way to a guarded name, and putting it right.
 *
 * Threat: an ancestor of a guarded name that becomes a link or a file leads the host elsewhere (".git" as a file names
 * another git directory): it is removed as well.
 * Threat: a directory without rights hides what is in it from us and from the host alike, until its owner gives the
 * rights back: we do that at once.
 * Threat: a planted tree may be too large to delete in one go, or hold what cannot be deleted. It is renamed first, which
 * is what counts; the rest is done bit by bit, and what resists to the end stays under that name ("set_aside"). Where
 * even the rename fails, the run fails: a tree that lives is killed, and looked at again when it is dead.
 * Threat: root would remove more than the command could have: changes are made with the rights of the workspace's owner.
 * Race: each directory is watched before it is looked into, so what appears in between is seen or announced. All
 * walking is by descriptor, one component at a time, without following links.
 */
#include "runtime/supervise/guard_look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/removal.h"
#include "base/str.h"
#include "runtime/supervise/rights.h"

#define APPEARED (IN_CREATE | IN_MOVED_TO)
#define VANISHED (IN_MOVED_FROM | IN_DELETE) /* of interest where a link is to stay */

/* Where one look has come to. */
struct look {
	struct guard *guard;
	const struct plan_guard *what;
	int dirfd;
	size_t *budget;
};

static int make_accessible(const struct guard *guard, int dirfd, struct error *err)
{
	struct rights rights = {0};
	struct error refused = {0};

	if (rights_narrow_for(guard->plan, &rights, &refused) == 0)
		(void)removal_make_accessible(dirfd); /* where it may not, looking into it says so */
	return rights_widen(&rights, err);
}

static int watch_directory(struct guard *guard, int dirfd, struct error *err)
{
	if (faccessat(dirfd, ".", R_OK | X_OK, AT_EACCESS) < 0 && make_accessible(guard, dirfd, err) < 0)
		return -1;
	if (!guard->polling && !watcher_add(guard->watcher, dirfd, guard->has_links ? APPEARED | VANISHED : APPEARED))
		guard->polling = true;
	return 0;
}

/* The first `size` bytes of the guarded path, for people: below the workspace where it lies there. NULL: no memory. */
static const char *tell_path(const struct look *look, size_t size)
{
	const char *workspace = look->guard->plan->workspace;
	size_t prefix = workspace == NULL ? 0 : strlen(workspace);
	char *path = arena_printf(
		look->guard->violations->arena, "%s/%.*s", look->what->root, (int)size, look->what->relative);

	if (path != NULL && prefix > 1 && strncmp(path, workspace, prefix) == 0 && path[prefix] == '/')
		path += prefix + 1;
	return path;
}

static const char *kind_of(const struct look *look)
{
	return look->what->link == NULL ? "planted" : "link_replaced";
}

static int record(const struct look *look, size_t size, const char *action, struct error *err)
{
	const char *path = tell_path(look, size);

	if (path == NULL)
		return error_no_memory(err);
	return violations_add(look->guard->violations, kind_of(look), path, action, err);
}

/* A name that must not be there is there and stays: nobody may take the run for one that went well. */
static int fail(const struct look *look, size_t path_size, int sys_errno, struct error *err)
{
	struct guard *guard = look->guard;
	struct error why = {0};

	if (guard->finishing && !guard->last) {
		guard->unfinished = true;
		return 0;
	}
	(void)error_set_errno(&why, ERROR_IO, sys_errno, "guard", "%s/%.*s is not as it was, and cannot be put right",
		look->what->root, (int)path_size, look->what->relative);
	why.code = ERROR_UNENFORCEABLE;
	if (record(look, path_size, guard->last ? "none" : "killed", err) < 0)
		return -1;
	return guard->hooks.lost(guard->hooks.userdata, &why, err);
}

static int set_aside(const struct look *look, const char *name, size_t path_size, struct error *err)
{
	const char *path = tell_path(look, path_size);

	if (path == NULL)
		return error_no_memory(err);
	return asides_add(&look->guard->asides, look->dirfd, name, kind_of(look), path, err);
}

/* Fallback: a full disk may have no room for a new name, but always for one name less. */
static int take_away(const struct look *look, const char *name, char ret_aside[REMOVAL_NAME_SIZE])
{
	int r = removal_take_away(look->dirfd, name, ret_aside);

	if (r >= 0 || (errno != ENOSPC && errno != EDQUOT))
		return r;
	if (removal_delete(look->dirfd, name, look->budget) == REMOVAL_DONE)
		return REMOVAL_GONE;
	errno = ENOSPC;
	return -1;
}

/* As its directory's owner would have made it, whoever we are. */
static int make_link(const struct look *look, const char *name)
{
	struct stat st;

	if (symlinkat(look->what->link, look->dirfd, name) < 0)
		return -1;
	if (geteuid() != 0 || look->guard->plan->identity.mapped)
		return 0; /* it is its own */
	if (fstatat(look->dirfd, "", &st, AT_EMPTY_PATH) < 0)
		return -1;
	return fchownat(look->dirfd, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
}

/* What stands at the name is taken away, and the link made where there is to be one. 0, or an errno. */
static int exchange(
	const struct look *look, const char *name, bool link, int *ret_taken, char ret_aside[REMOVAL_NAME_SIZE])
{
	*ret_taken = take_away(look, name, ret_aside);
	if (*ret_taken < 0 || (link && make_link(look, name) < 0))
		return errno;
	return 0;
}

/* itself: the guarded name, else an ancestor of it. */
static int put_right(const struct look *look, const char *name, size_t path_size, bool itself, struct error *err)
{
	bool link = itself && look->what->link != NULL;
	char aside[REMOVAL_NAME_SIZE];
	struct rights rights = {0};
	struct error refused = {0};
	int taken, sys_errno;

	if (!look->guard->armed) {
		look->guard->early = look->what;
		return 0;
	}
	if (rights_narrow_for(look->guard->plan, &rights, &refused) < 0)
		return fail(look, path_size, refused.sys_errno, err);
	sys_errno = exchange(look, name, link, &taken, aside);
	if (rights_widen(&rights, err) < 0)
		return -1;
	if (taken == REMOVAL_ASIDE && set_aside(look, aside, path_size, err) < 0)
		return -1;
	if (sys_errno == EEXIST && !look->guard->last) { /* the command was faster */
		look->guard->unfinished = true;
		return 0;
	}
	if (sys_errno != 0)
		return fail(look, path_size, sys_errno, err);
	if (taken == REMOVAL_ASIDE && !link)
		return 0; /* told when it is deleted */
	return record(look, path_size, link ? "restored" : "removed", err);
}

static bool is_link_to(int dirfd, const char *name, const char *target)
{
	char there[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, there, sizeof there - 1);

	if (n < 0)
		return false;
	there[n] = '\0';
	return strcmp(there, target) == 0;
}

static bool is_as_it_was(const struct look *look, const char *name)
{
	struct stat st;

	if (look->what->link != NULL)
		return is_link_to(look->dirfd, name, look->what->link);
	return fstatat(look->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Takes the component that begins at *path; returns false where there is none. */
static bool next_component(const char **path, char name[NAME_MAX + 1])
{
	size_t size;

	*path += strspn(*path, "/");
	size = strcspn(*path, "/");
	if (size == 0 || size > NAME_MAX)
		return false;
	memcpy(name, *path, size);
	name[size] = '\0';
	*path += size;
	return true;
}

/* Somebody took the rights away again just now, or the directory belongs to another user, and the command could not
 * make anything there. */
static int cannot_look(const struct look *look, size_t path_size, struct error *err)
{
	if (look->guard->last)
		return record(look, path_size, "none", err);
	look->guard->unfinished = true;
	return 0;
}

/* Goes down to the guarded name; stops where an ancestor is absent. */
int guard_look_along(struct guard *guard, size_t i, size_t *budget, struct error *err)
{
	struct look place = {guard, &guard->plan->guards[i], guard_roots_fd(&guard->roots, i), budget};
	struct look *look = &place;
	const char *rest = look->what->relative;
	cleanup_close int fd = -1;
	char name[NAME_MAX + 1];

	while (next_component(&rest, name)) {
		size_t size = (size_t)(rest - look->what->relative);
		int next;

		if ((fd >= 0 || guard_roots_is_new(&guard->roots, i)) &&
			watch_directory(look->guard, look->dirfd, err) < 0)
			return -1;
		if (rest[strspn(rest, "/")] == '\0')
			return is_as_it_was(look, name) ? 0 : put_right(look, name, size, true, err);
		next = openat(look->dirfd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 && (errno == ENOTDIR || errno == ELOOP))
			return put_right(look, name, size, false, err);
		if (next < 0)
			return errno == ENOENT ? 0 : cannot_look(look, size, err);
		cleanup_close_fd(&fd);
		fd = look->dirfd = next;
	}
	return 0;
}
