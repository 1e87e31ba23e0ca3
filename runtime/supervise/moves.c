/*
 * Threat: a mount stays on the directory or file that it was put on. When the host renames a directory above a mask and
 * makes a new one in its place (".git" moved away and cloned anew, say), the mask goes along, and what is at its path
 * now shows, or can be written. No mount has changed, so mountinfo does not wake anybody.
 *
 * The kernel tells by IN_MOVE_SELF that a directory was renamed, and nothing else that happens in it. Then the mounts
 * are looked at: their paths are not what they were.
 *
 * Fallback: without inotify, or where a directory cannot be watched because it cannot be listed, the mounts are looked
 * at ten times a second.
 */
#include "runtime/supervise/moves.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/monotime.h"

#define LOOK_NS (100 * NS_PER_MS)

static int on_seen(void *userdata, uint32_t seen, struct error *err)
{
	struct moves *moves = userdata;

	(void)err;
	moves->seen |= (seen & (IN_MOVE_SELF | IN_Q_OVERFLOW)) != 0;
	return 0;
}

static int on_time(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct moves *moves = userdata;

	(void)events;
	moves->seen = true;
	return loop_arm(source, monotime_after_ns(LOOK_NS), err);
}

static bool watch_all(const struct plan *plan, struct watcher *watcher)
{
	cleanup_close int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool all = slash >= 0;

	for (size_t i = 0; all && i < plan->n_ancestors; i++) {
		cleanup_close int fd = beneath_open(slash, plan->ancestors[i], O_PATH | O_DIRECTORY, 0);

		all = fd >= 0 && watcher_add(watcher, fd, IN_MOVE_SELF);
	}
	return all;
}

static int watch(struct moves *moves, struct error *err)
{
	return watch_all(moves->plan, moves->watcher) ? 0 : loop_arm(&moves->timer, monotime_after_ns(LOOK_NS), err);
}

int moves_start(
	struct moves *moves, const struct plan *plan, struct watcher *watcher, struct loop *loop, struct error *err)
{
	if (plan->n_ancestors == 0)
		return 0;
	moves->plan = plan;
	moves->watcher = watcher;
	moves->loop = loop;
	watcher_listen(watcher, on_seen, moves);
	if (loop_add_timer(loop, &moves->timer, on_time, moves, err) < 0)
		return -1;
	return watch(moves, err);
}

/* Order: what stands at those paths now is watched before the mounts are looked at. */
int moves_take(struct moves *moves, bool *ret_seen, struct error *err)
{
	*ret_seen = moves->seen;
	moves->seen = false;
	return *ret_seen ? watch(moves, err) : 0;
}

void moves_stop(struct moves *moves)
{
	if (moves->plan == NULL)
		return;
	watcher_forget(moves->watcher, moves);
	loop_remove(moves->loop, &moves->timer);
	moves->plan = NULL;
}
