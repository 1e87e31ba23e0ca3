/* Word of changes in the host's directories: one inotify instance for a whole run, because a user has few of them. */
#ifndef SUPERVISE_WATCHER_H
#define SUPERVISE_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/loop.h"

struct watcher;

/* seen: all the IN_* of some events together, also those that somebody else asked for; IN_Q_OVERFLOW: any may be missing. */
typedef int (*watcher_fn)(void *userdata, uint32_t seen, struct error *err);

/* loop is borrowed. That there is no inotify to be had is no failure: then nothing can be watched. */
must_check int watcher_new(struct loop *loop, struct watcher **ret_watcher, struct error *err);
/* Also watches `dirfd` (O_PATH is enough) for the events of `mask`; false where that cannot be. */
bool watcher_add(struct watcher *watcher, int dirfd, uint32_t mask);
/* fn is called when something was seen of any watched directory; at most two may listen. */
void watcher_listen(struct watcher *watcher, watcher_fn fn, void *userdata);
void watcher_forget(struct watcher *watcher, const void *userdata);
struct watcher *watcher_free(struct watcher *watcher);
CLEANUP_DEFINE(struct watcher, watcher_free)

#endif
