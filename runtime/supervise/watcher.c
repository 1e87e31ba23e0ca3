/*
 * What inotify tells is taken as a reason to look, never as the truth: events are lost when there are too many, and
 * names in them are old by the time they are read. So only their kinds are passed on, many events at a time.
 */
#include "runtime/supervise/watcher.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"

#define LISTENERS_MAX 2
#define READS_MAX     64 /* so that the loop goes on; what is left wakes it again */
#define EVENT_BYTES   8192
#define SHORT_NS      (500 * NS_PER_MS)

struct listener {
	watcher_fn fn; /* NULL: none */
	void *userdata;
};

struct watcher {
	struct loop *loop;
	struct loop_source source;
	int fd;           /* -1: not made yet, or not to be had */
	bool is_missing;  /* not to be had */
	uint64_t born_ns; /* when the first directory was watched */
	struct listener listeners[LISTENERS_MAX];
};

static uint32_t kinds_of(const char *events, size_t size)
{
	uint32_t seen = 0;

	for (size_t at = 0; size - at >= sizeof(struct inotify_event);) {
		struct inotify_event event;

		memcpy(&event, events + at, sizeof event);
		seen |= event.mask;
		at += sizeof event + event.len;
	}
	return seen;
}

static int on_events(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct watcher *watcher = userdata;
	char buffer[EVENT_BYTES];
	uint32_t seen = 0;
	ssize_t n;

	(void)events;
	for (unsigned i = 0; i < READS_MAX && (n = read(source->fd, buffer, sizeof buffer)) > 0; i++)
		seen |= kinds_of(buffer, (size_t)n);
	for (size_t i = 0; seen != 0 && i < LISTENERS_MAX; i++) {
		const struct listener *listener = &watcher->listeners[i];

		if (listener->fn != NULL && listener->fn(listener->userdata, seen, err) < 0)
			return -1;
	}
	return 0;
}

int watcher_new(struct loop *loop, struct watcher **ret_watcher, struct error *err)
{
	cleanup_with(watcher_freep) struct watcher *watcher = calloc(1, sizeof *watcher);

	if (watcher == NULL)
		return error_no_memory(err);
	*watcher = (struct watcher){.loop = loop, .source = LOOP_SOURCE_INIT, .fd = -1};
	*ret_watcher = steal_ptr(&watcher);
	return 0;
}

static void make_instance(struct watcher *watcher)
{
	struct error why = {0};

	watcher->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	watcher->born_ns = monotime_ns();
	if (watcher->fd >= 0 &&
		loop_add_fd(watcher->loop, &watcher->source, watcher->fd, EPOLLIN, on_events, watcher, &why) < 0)
		cleanup_close_fd(&watcher->fd);
	watcher->is_missing = watcher->fd < 0;
}

bool watcher_add(struct watcher *watcher, int dirfd, uint32_t mask)
{
	char path[40];

	if (watcher->fd < 0 && !watcher->is_missing)
		make_instance(watcher);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", dirfd);
	return watcher->fd >= 0 && inotify_add_watch(watcher->fd, path, mask | IN_MASK_ADD | IN_ONLYDIR) >= 0;
}

void watcher_listen(struct watcher *watcher, watcher_fn fn, void *userdata)
{
	size_t i = 0;

	while (i < LISTENERS_MAX - 1 && watcher->listeners[i].fn != NULL)
		i++;
	watcher->listeners[i] = (struct listener){fn, userdata};
}

void watcher_forget(struct watcher *watcher, const void *userdata)
{
	for (size_t i = 0; i < LISTENERS_MAX; i++) {
		if (watcher->listeners[i].userdata == userdata)
			watcher->listeners[i] = (struct listener){0};
	}
}

/* Whoever closes an instance waits in the kernel until no processor can still be looking at a watch of it, 10 to 20 ms:
 * longer than a short run. A user has few instances, so only short runs, whose number time limits, leave theirs to the
 * kernel's collector. */
struct watcher *watcher_free(struct watcher *watcher)
{
	if (watcher == NULL)
		return NULL;
	loop_remove(watcher->loop, &watcher->source);
	if (watcher->fd >= 0 && monotime_ns() - watcher->born_ns < SHORT_NS)
		fd_close_aside((int *[]){&watcher->fd}, 1);
	cleanup_close_fd(&watcher->fd);
	free(watcher);
	return NULL;
}
