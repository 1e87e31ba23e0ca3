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
 * Most runs are over before anybody can have renamed anything, and to be rid of an inotify instance costs more than
 * such a run: the kernel waits for all its processors. So in the first moments the directories are only remembered, and
 * looked at when these are over, or the run is.
 *
 * Fallback: without inotify, or where a directory cannot be watched because it cannot be listed, the mounts are looked
 * at ten times a second.
 */
#include "runtime/supervise/moves.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/monotime.h"

#define FIRST_NS (25 * NS_PER_MS)
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

static struct move_place place_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return (struct move_place){0};
	return (struct move_place){.device = st.st_dev, .inode = st.st_ino, .known = true};
}

static int remember(struct moves *moves, struct error *err)
{
	const struct plan *plan = moves->plan;

	moves->places = calloc(plan->n_ancestors + 1, sizeof *moves->places);
	if (moves->places == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < plan->n_ancestors; i++)
		moves->places[i] = place_of(plan->ancestors[i]);
	return 0;
}

static bool is_as_remembered(const struct moves *moves)
{
	for (size_t i = 0; i < moves->plan->n_ancestors; i++) {
		const struct move_place then = moves->places[i];
		const struct move_place now = place_of(moves->plan->ancestors[i]);

		if (now.known != then.known || now.device != then.device || now.inode != then.inode)
			return false;
	}
	return !has_appeared(moves->plan);
}

/* Order: watched first, then compared, so that nothing falls between. */
static int watch_first(struct moves *moves, struct error *err)
{
	if (watch(moves, watch_all, err) < 0)
		return -1;
	moves->seen |= !is_as_remembered(moves);
	free(steal_ptr(&moves->places));
	return 0;
}

static int on_time(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct moves *moves = userdata;

	(void)events;
	if (moves->places != NULL)
		return watch_first(moves, err);
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
	if (remember(moves, err) < 0 || loop_add_timer(loop, &moves->timer, on_time, moves, err) < 0)
		return -1;
	return loop_arm(&moves->timer, monotime_after_ns(FIRST_NS), err);
}

int moves_look(struct moves *moves, bool *ret_seen, struct error *err)
{
	*ret_seen = moves->plan != NULL && moves->places != NULL && !is_as_remembered(moves);
	return *ret_seen ? watch_first(moves, err) : 0;
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
	free(steal_ptr(&moves->places));
	moves->plan = NULL;
}
