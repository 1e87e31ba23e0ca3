/*
 * Orphans. Without a pid namespace a tree whose init was killed is no tree any more: its processes have become children
 * of somebody else. Those that were seen at the last look are known by pid and start time. What they forked since is
 * known by its session: a session has only descendants of whoever began it, and each of the tree's was begun in it.
 *
 * Race: a pid, and so the number of a session, may be used again when all that had it are gone. What was seen last is
 * some milliseconds old, in which the kernel does not come round to the same number; and each process is signaled by a
 * pidfd that was opened before it was looked at.
 */
#include "cgroup/watch_orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "base/sys.h"

#define PASSES_MAX 64
#define PAUSE_NS   (2 * NS_PER_MS)

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static bool was_seen(const struct watch_process *seen, const struct watch_process *now)
{
	return seen->stat_read && seen->start_time == now->start_time;
}

static bool is_dead(const struct watch_process *now)
{
	return (now->state == 'Z' || now->state == 'X') && now->tasks <= 1; /* more: its first thread alone has ended */
}

static bool in_session(const struct watch_tree *tree, pid_t session)
{
	if (session == getsid(0)) /* whatever a look has seen: that one is the caller's */
		return false;
	for (size_t i = 0; i < tree->n; i++) {
		if (tree->processes[i].stat_read && session > 1 && tree->processes[i].session == session)
			return true;
	}
	return false;
}

/* Whether there was something to end. */
static bool end(const struct watch_tree *tree, pid_t pid, const struct watch_process *seen)
{
	cleanup_close int pidfd = sys_pidfd_open(pid, 0);
	struct watch_process now = {0};

	if (pidfd < 0 || pid == tree->root || !watch_process_look(tree->proc_fd, pid, &now) || is_dead(&now))
		return false;
	if (seen != NULL ? !was_seen(seen, &now) : !in_session(tree, now.session))
		return false;
	return sys_pidfd_send_signal(pidfd, SIGKILL) == 0;
}

static bool end_sessions(const struct watch_tree *tree)
{
	cleanup_close int fd = openat(tree->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(close_dir))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool found = false;

	if (dir != NULL)
		(void)steal_fd(&fd);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			end(tree, (pid_t)strtol(entry->d_name, NULL, 10), NULL))
			found = true;
	}
	return found;
}

static bool end_seen(const struct watch_tree *tree)
{
	bool found = false;

	for (size_t i = 0; i < tree->n; i++) {
		if (end(tree, tree->processes[i].pid, &tree->processes[i]))
			found = true;
	}
	return found;
}

void watch_orphans_kill(const struct watch_tree *tree)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	/* Until none is found alive: they are nobody's children here, so their end cannot be waited for otherwise. */
	for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
		bool seen = end_seen(tree);

		if (!end_sessions(tree) && !seen)
			return;
		(void)nanosleep(&pause, NULL);
	}
}
