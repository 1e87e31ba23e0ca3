/*
 * Threat: a mount stays on the directory or file that it was put on. When the host renames a directory above a mask and
 * makes a new one in its place (".git" moved away and cloned anew, say), the mask goes along, and what is at its path
 * now shows, or can be written. No mount has changed, so mountinfo does not wake anybody.
 *
 * The kernel tells by IN_MOVE_SELF that a directory was renamed, and nothing else that happens in it. Then the mounts
 * are looked at: their paths are not what they were.
 *
 * A denied name that the host may still make, outside of what is writable, is waited for in the deepest directory of
 * its path that there is.
 *
 * Fallback: without inotify, or where a directory cannot be watched because it cannot be listed, the mounts are looked
 * at ten times a second.
 */
#include "runtime/supervise/moves.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/monotime.h"

#define LOOK_NS  (100 * NS_PER_MS)
#define APPEARED (IN_CREATE | IN_MOVED_TO | IN_ATTRIB) /* or can be reached now */

/* Opens the deepest directory on the way to path that there is; *ret_size is what it has of the path. */
static int open_deepest(int slash, const char *path, size_t *ret_size)
{
	char directory[PATH_MAX];
	size_t size = strlen(path);
	int fd = -1;

	if (size >= sizeof directory)
		return -1;
	memcpy(directory, path, size + 1);
	while (fd < 0 && size > 0) {
		while (size > 0 && directory[--size] != '/')
			;
		directory[size] = '\0';
		fd = beneath_open(slash, directory, O_PATH | O_DIRECTORY, 0);
	}
	*ret_size = size;
	return fd;
}

/* Race: a deeper one that is made before the watch stands is not announced; so it is asked again until there is none. */
static bool watch_for(int slash, const char *path, struct watcher *watcher)
{
	size_t watched = SIZE_MAX;

	for (;;) {
		size_t size = 0;
		cleanup_close int fd = open_deepest(slash, path, &size);

		if (fd >= 0 && size == watched)
			return true;
		if (fd < 0 || !watcher_add(watcher, fd, APPEARED | IN_MOVE_SELF))
			return false;
		watched = size;
	}
}

static bool watch_late(int slash, const struct plan *plan, struct watcher *watcher)
{
	bool all = slash >= 0;

	for (size_t i = 0; all && i < plan->n_late; i++)
		all = watch_for(slash, plan->late[i], watcher);
	return all;
}

static bool watch_all(int slash, const struct plan *plan, struct watcher *watcher)
{
	bool all = slash >= 0;

	for (size_t i = 0; all && i < plan->n_ancestors; i++) {
		cleanup_close int fd = beneath_open(slash, plan->ancestors[i], O_PATH | O_DIRECTORY, 0);

		all = fd >= 0 && watcher_add(watcher, fd, IN_MOVE_SELF);
	}
	return all && watch_late(slash, plan, watcher);
}

static int watch(struct moves *moves, bool (*some)(int, const struct plan *, struct watcher *), struct error *err)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return some(slash, moves->plan, moves->watcher) ? 0 : loop_arm(&moves->timer, monotime_after_ns(LOOK_NS), err);
}

/* What appears in the workspace comes here, too, where there is a guard. */
static bool has_appeared(const struct plan *plan)
{
	struct stat st;

	for (size_t i = 0; i < plan->n_late; i++) {
		if (lstat(plan->late[i], &st) == 0)
			return true;
	}
	return false;
}

static int on_seen(void *userdata, uint32_t seen, struct error *err)
{
	struct moves *moves = userdata;

	moves->seen |= (seen & (IN_MOVE_SELF | IN_Q_OVERFLOW)) != 0;
	if (moves->plan->n_late == 0 || (seen & APPEARED) == 0)
		return 0;
	if (watch(moves, watch_late, err) < 0)
		return -1;
	moves->seen |= has_appeared(moves->plan);
	return 0;
}

static int on_time(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct moves *moves = userdata;

	(void)events;
	moves->seen = true;
	return loop_arm(source, monotime_after_ns(LOOK_NS), err);
}

int moves_start(
	struct moves *moves, const struct plan *plan, struct watcher *watcher, struct loop *loop, struct error *err)
{
	if (plan->n_ancestors == 0 && plan->n_late == 0)
		return 0;
	moves->plan = plan;
	moves->watcher = watcher;
	moves->loop = loop;
	watcher_listen(watcher, on_seen, moves);
	if (loop_add_timer(loop, &moves->timer, on_time, moves, err) < 0)
		return -1;
	return watch(moves, watch_all, err);
}

/* Order: what stands at those paths now is watched before the mounts are looked at. */
int moves_take(struct moves *moves, bool *ret_seen, struct error *err)
{
	*ret_seen = moves->seen;
	moves->seen = false;
	return *ret_seen ? watch(moves, watch_all, err) : 0;
}

void moves_stop(struct moves *moves)
{
	if (moves->plan == NULL)
		return;
	watcher_forget(moves->watcher, moves);
	loop_remove(moves->loop, &moves->timer);
	moves->plan = NULL;
}
