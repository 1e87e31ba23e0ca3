/*
 * Guarding names that do not exist.
 *
 * A protected path that exists is held by a mount. One that does not exist cannot be: a placeholder would be seen in
 * the caller's own tree. So the directories on the way to it are watched with inotify, and when anything appears in one
 * of them every guarded name is looked at again; what has been planted is removed and reported. inotify only says "look
 * again": its events are not trusted to be complete, its overflow needs no care, and the last look comes after the tree
 * is dead. How long a planted name can be seen by the host is in docs/threat-model.md.
 *
 * Threat: an ancestor of a guarded name that becomes a link or a file leads the host elsewhere (".git" as a file names
 * another git directory): it is removed as well.
 * A protected name that is a symbolic link cannot be held by a mount either: it is put back where it is replaced.
 * Threat: a directory without rights hides what is in it from us and from the host alike, until its owner gives the
 * rights back: we do that at once.
 * Threat: a planted tree may be too large to delete in one go, or hold what cannot be deleted. It is renamed first, which
 * is what counts; the rest is done bit by bit, and what resists to the end stays under that name ("set_aside"). Where
 * even the rename fails, the run fails: a tree that lives is killed, and looked at again when it is dead.
 * Threat: root would remove more than the command could have: changes are made with the rights of the workspace's owner.
 * Fallback: inotify instances are few (128 a user by default). Without one, or without a watch, the names are looked at
 * every 5 ms.
 * Race: each directory is watched before it is looked into, so what appears in between is seen or announced. All
 * walking is by descriptor, one component at a time, without following links.
 */
#include "runtime/supervise/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/monotime.h"
#include "base/str.h"
#include "runtime/supervise/asides.h"
#include "runtime/supervise/removal.h"
#include "runtime/supervise/rights.h"

#define WATCHED       (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR)
#define SCAN_BUDGET   4096 /* names removed in one look, so that the loop goes on */
#define READS_MAX     64   /* of events, for the same reason */
#define FINISH_BUDGET (1u << 20)
#define AGAIN_NS      NS_PER_MS
#define POLL_NS       (5 * NS_PER_MS)
#define FINISH_LOOKS  3
#define EVENT_BYTES   8192

struct guard {
	const struct plan *plan;
	struct guard_hooks hooks;
	struct loop *loop;
	struct violations *violations;
	struct loop_source events, again;
	int inotify_fd;
	int *root_fds; /* one for each guard of the plan */
	size_t n;
	struct asides asides;
	bool armed;      /* the command may have started: what appears is its doing */
	bool finishing;  /* the tree is dead */
	bool last;       /* and what cannot be removed now never will be */
	bool polling;    /* inotify is not to be had: look every few milliseconds */
	bool unfinished; /* the last look left something */
};

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
	char path[40];

	if (faccessat(dirfd, ".", R_OK | X_OK, AT_EACCESS) < 0 && make_accessible(guard, dirfd, err) < 0)
		return -1;
	if (guard->polling)
		return 0;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", dirfd);
	if (inotify_add_watch(guard->inotify_fd, path, WATCHED) < 0)
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

static int appeared_too_early(const struct look *look, struct error *err)
{
	(void)error_set(err, ERROR_UNENFORCEABLE, "guard", "%s/%s appeared while the run was being prepared",
		look->what->root, look->what->relative);
	error_set_fix(err, "start the run again");
	if (err != NULL)
		err->retryable = ERROR_RETRY_YES;
	return -1;
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

	if (!look->guard->armed)
		return appeared_too_early(look, err);
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
static int look_along(struct look *look, struct error *err)
{
	const char *rest = look->what->relative;
	cleanup_close int fd = -1;
	char name[NAME_MAX + 1];

	while (next_component(&rest, name)) {
		size_t size = (size_t)(rest - look->what->relative);
		int next;

		if (watch_directory(look->guard, look->dirfd, err) < 0)
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

static int look_at_all(struct guard *guard, size_t budget, struct error *err)
{
	int r;

	guard->unfinished = false;
	for (size_t i = 0; i < guard->n; i++) {
		struct look look = {guard, &guard->plan->guards[i], guard->root_fds[i], &budget};

		if (look_along(&look, err) < 0)
			return -1;
	}
	r = asides_delete(&guard->asides, &budget, guard->last, err);
	guard->unfinished |= r > 0;
	return r < 0 ? -1 : 0;
}

static int scan(struct guard *guard, struct error *err)
{
	if (look_at_all(guard, SCAN_BUDGET, err) < 0)
		return -1;
	if (guard->unfinished)
		return loop_arm(&guard->again, monotime_after_ns(AGAIN_NS), err);
	return guard->polling ? loop_arm(&guard->again, monotime_after_ns(POLL_NS), err) : 0;
}

static int on_change(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct guard *guard = userdata;
	char discarded[EVENT_BYTES];

	(void)events;
	for (unsigned i = 0; i < READS_MAX && read(source->fd, discarded, sizeof discarded) > 0; i++)
		; /* what is left wakes the loop again */
	return scan(guard, err);
}

static int on_again(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return scan(userdata, err);
}

static int replaced_too_early(const char *root, struct error *err)
{
	(void)error_set(err, ERROR_UNENFORCEABLE, "guard", "%s was replaced while the run was being prepared", root);
	error_set_fix(err, "start the run again");
	if (err != NULL)
		err->retryable = ERROR_RETRY_YES;
	return -1;
}

/* Race: somebody who may rename in a parent of the workspace could have us watch another directory than the one that
 * will be mounted; the same is checked there. */
static int open_root(int slash, const struct plan_guard *what, struct error *err)
{
	cleanup_close int fd = beneath_open(slash, what->root, O_PATH | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return replaced_too_early(what->root, err);
	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "guard", "cannot open %s", what->root);
	if (fstat(fd, &st) < 0 || st.st_dev != what->device || st.st_ino != what->inode)
		return replaced_too_early(what->root, err);
	return steal_fd(&fd);
}

static int open_roots(struct guard *guard, struct error *err)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (slash < 0)
		return error_set_errno(err, ERROR_IO, errno, "guard", "cannot open /");
	guard->root_fds = calloc(guard->plan->n_guards, sizeof *guard->root_fds);
	if (guard->root_fds == NULL)
		return error_no_memory(err);
	for (; guard->n < guard->plan->n_guards; guard->n++) {
		int fd = open_root(slash, &guard->plan->guards[guard->n], err);

		if (fd < 0)
			return -1;
		guard->root_fds[guard->n] = fd;
	}
	return 0;
}

static int start(struct guard *guard, struct error *err)
{
	guard->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	guard->polling = guard->inotify_fd < 0;
	if (!guard->polling &&
		loop_add_fd(guard->loop, &guard->events, guard->inotify_fd, EPOLLIN, on_change, guard, err) < 0)
		return -1;
	if (loop_add_timer(guard->loop, &guard->again, on_again, guard, err) < 0 || scan(guard, err) < 0)
		return -1;
	guard->armed = true;
	return 0;
}

int guard_new(const struct plan *plan, struct loop *loop, struct violations *violations,
	const struct guard_hooks *hooks, struct guard **ret_guard, struct error *err)
{
	cleanup_with(guard_freep) struct guard *guard = NULL;

	if (plan->n_guards == 0) {
		*ret_guard = NULL;
		return 0;
	}
	guard = calloc(1, sizeof *guard);
	if (guard == NULL)
		return error_no_memory(err);
	*guard = (struct guard){.plan = plan,
		.hooks = *hooks,
		.asides = {.plan = plan, .violations = violations},
		.loop = loop,
		.violations = violations,
		.events = LOOP_SOURCE_INIT,
		.again = LOOP_SOURCE_INIT,
		.inotify_fd = -1};
	if (open_roots(guard, err) < 0 || start(guard, err) < 0)
		return -1;
	*ret_guard = steal_ptr(&guard);
	return 0;
}

int guard_finish(struct guard *guard, struct error *err)
{
	if (guard == NULL)
		return 0;
	loop_remove(guard->loop, &guard->events);
	loop_remove(guard->loop, &guard->again);
	guard->unfinished = guard->finishing = true;
	for (unsigned i = 1; i <= FINISH_LOOKS && (guard->unfinished || guard->asides.n > 0); i++) {
		guard->last = i == FINISH_LOOKS;
		if (look_at_all(guard, FINISH_BUDGET, err) < 0)
			return -1;
	}
	return 0;
}

struct guard *guard_free(struct guard *guard)
{
	if (guard == NULL)
		return NULL;
	loop_remove(guard->loop, &guard->events);
	loop_remove(guard->loop, &guard->again);
	asides_close(&guard->asides);
	cleanup_close_fd(&guard->inotify_fd);
	while (guard->n > 0)
		cleanup_close_fd(&guard->root_fds[--guard->n]);
	free(guard->root_fds);
	free(guard);
	return NULL;
}
