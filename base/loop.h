/*
 * A small epoll loop: descriptors and one timer a source. Single-threaded; its epoll descriptor can be polled by
 * others. Sources are embedded in their owner's structs and must outlive their registration.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct loop;
struct loop_source;
/* events: EPOLL* bits. A negative return with err set ends the dispatch with that failure. */
typedef int (*loop_fn)(struct loop_source *source, uint32_t events, void *userdata, struct error *err);

struct loop_source {
	int fd; /* borrowed for fd sources; the loop's own timerfd for timers; -1: not registered */
	bool timer;
	uint32_t events;
	loop_fn fn;
	void *userdata;
};
#define LOOP_SOURCE_INIT \
	{                \
		.fd = -1 \
	}

must_check int loop_new(struct loop **ret_loop, struct error *err);
struct loop *loop_free(struct loop *loop); /* sources must be removed first or never used again */
CLEANUP_DEFINE(struct loop, loop_free)

int loop_fd(const struct loop *loop);
/* A descriptor that epoll refuses (a regular file) gives ERROR_IO with sys_errno EPERM, for the caller to handle. */
must_check int loop_add_fd(struct loop *loop, struct loop_source *source, int fd, uint32_t events, loop_fn fn,
	void *userdata, struct error *err);
/* Changes the events waited for; EPOLLHUP and EPOLLERR always come. */
must_check int loop_modify(struct loop *loop, struct loop_source *source, uint32_t events, struct error *err);
/* No-op where not registered. Before the owner closes the descriptor: a duplicate elsewhere would keep it registered. */
void loop_remove(struct loop *loop, struct loop_source *source);
/* A timer source, unarmed; arm with an absolute monotime (0: disarm; in the past: fires at once; UINT64_MAX: never). */
must_check int loop_add_timer(
	struct loop *loop, struct loop_source *source, loop_fn fn, void *userdata, struct error *err);
must_check int loop_arm(struct loop_source *source, uint64_t at_ns, struct error *err);
/* Runs what is ready; timeout_ms as epoll_wait; 0 also after a signal. Callbacks may add and remove sources, their own
 * included, but not dispatch. */
must_check int loop_dispatch(struct loop *loop, int timeout_ms, struct error *err);

#endif
