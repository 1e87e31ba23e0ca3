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

#include "base/monotime.h"
#include "base/str.h"
#include "runtime/supervise/removal.h"

#define WATCHED       (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR)
#define SCAN_BUDGET   4096 /* names removed in one look, so that the loop goes on */
#define FINISH_BUDGET (1u << 20)
#define AGAIN_NS      NS_PER_MS
#define POLL_NS       (5 * NS_PER_MS)
#define FINISH_LOOKS  3
#define EVENT_BYTES   8192

struct guard {
	const struct plan *plan;
	struct loop *loop;
	struct violations *violations;
	struct loop_source events, again;
	int inotify_fd;
	int *root_fds; /* one for each guard of the plan */
	size_t n;
	bool armed;      /* the command may have started: what appears is its doing */
	bool last;       /* the tree is dead: what cannot be removed now never will be */
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

static void watch_directory(struct guard *guard, int dirfd)
{
	char path[40];

	if (faccessat(dirfd, ".", R_OK | X_OK, AT_EACCESS) < 0)
		(void)removal_make_accessible(dirfd); /* where it may not, looking into it says so */
	if (guard->polling)
		return;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", dirfd);
	if (inotify_add_watch(guard->inotify_fd, path, WATCHED) < 0)
		guard->polling = true;
}

/* The first `size` bytes of the guarded path, for people: below the workspace where it lies there. */
static int record(const struct look *look, size_t size, const char *action, struct error *err)
{
	struct arena *arena = look->guard->violations->arena;
	const char *workspace = look->guard->plan->workspace;
	size_t prefix = workspace == NULL ? 0 : strlen(workspace);
	char *path = arena_printf(arena, "%s/%.*s", look->what->root, (int)size, look->what->relative);

	if (path == NULL)
		return error_no_memory(err);
	if (prefix > 1 && strncmp(path, workspace, prefix) == 0 && path[prefix] == '/')
		path += prefix + 1;
	return violations_add(
		look->guard->violations, look->what->link == NULL ? "planted" : "link_replaced", path, action, err);
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

static int remove_planted(const struct look *look, const char *name, size_t path_size, struct error *err)
{
	int r;

	if (!look->guard->armed)
		return appeared_too_early(look, err);
	r = removal_remove(look->dirfd, name, look->budget);
	if (r < 0 && errno == EACCES && removal_make_accessible(look->dirfd) == 0)
		r = removal_remove(look->dirfd, name, look->budget);
	if (r == REMOVAL_UNFINISHED && !look->guard->last) {
		look->guard->unfinished = true;
		return 0;
	}
	return record(look, path_size, r == REMOVAL_DONE ? "removed" : "none", err);
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

/* As its directory's owner would have made it, whoever we are. */
static bool make_link(int dirfd, const char *name, const char *target)
{
	struct stat st;

	if (symlinkat(target, dirfd, name) < 0)
		return false;
	if (geteuid() == 0 && fstatat(dirfd, "", &st, AT_EMPTY_PATH) == 0)
		return fchownat(dirfd, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) == 0;
	return true;
}

static int restore_link(const struct look *look, const char *name, size_t path_size, struct error *err)
{
	const char *target = look->what->link;
	int r;

	if (is_link_to(look->dirfd, name, target))
		return 0;
	if (!look->guard->armed)
		return appeared_too_early(look, err);
	r = removal_remove(look->dirfd, name, look->budget);
	if (r < 0 && errno == EACCES && removal_make_accessible(look->dirfd) == 0)
		r = removal_remove(look->dirfd, name, look->budget);
	if (r == REMOVAL_DONE && make_link(look->dirfd, name, target))
		return record(look, path_size, "restored", err);
	if (!look->guard->last) {
		look->guard->unfinished = true;
		return 0;
	}
	return record(look, path_size, "none", err);
}

static bool exists(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
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

/* Somebody took the rights away again just now, or the directory belongs to another user. */
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

		watch_directory(look->guard, look->dirfd);
		if (rest[strspn(rest, "/")] == '\0' && look->what->link != NULL)
			return restore_link(look, name, size, err);
		if (rest[strspn(rest, "/")] == '\0')
			return exists(look->dirfd, name) ? remove_planted(look, name, size, err) : 0;
		next = openat(look->dirfd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 && (errno == ENOTDIR || errno == ELOOP))
			return remove_planted(look, name, size, err);
		if (next < 0)
			return errno == ENOENT ? 0 : cannot_look(look, size, err);
		cleanup_close_fd(&fd);
		fd = look->dirfd = next;
	}
	return 0;
}

static int look_at_all(struct guard *guard, size_t budget, struct error *err)
{
	guard->unfinished = false;
	for (size_t i = 0; i < guard->n; i++) {
		struct look look = {guard, &guard->plan->guards[i], guard->root_fds[i], &budget};

		if (look_along(&look, err) < 0)
			return -1;
	}
	return 0;
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
	while (read(source->fd, discarded, sizeof discarded) > 0)
		;
	return scan(guard, err);
}

static int on_again(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return scan(userdata, err);
}

static int open_roots(struct guard *guard, struct error *err)
{
	guard->root_fds = calloc(guard->plan->n_guards, sizeof *guard->root_fds);
	if (guard->root_fds == NULL)
		return error_no_memory(err);
	for (; guard->n < guard->plan->n_guards; guard->n++) {
		const char *root = guard->plan->guards[guard->n].root;
		int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			return error_set_errno(err, ERROR_IO, errno, "guard", "cannot open %s", root);
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

int guard_new(const struct plan *plan, struct loop *loop, struct violations *violations, struct guard **ret_guard,
	struct error *err)
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
	guard->unfinished = true;
	for (unsigned i = 1; i <= FINISH_LOOKS && guard->unfinished; i++) {
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
	cleanup_close_fd(&guard->inotify_fd);
	while (guard->n > 0)
		cleanup_close_fd(&guard->root_fds[--guard->n]);
	free(guard->root_fds);
	free(guard);
	return NULL;
}
