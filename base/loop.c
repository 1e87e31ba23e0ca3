/*
 * The event loop: one epoll instance, sources embedded in the structs of those who wait.
 *
 * A timer is a timerfd, so that everything is a descriptor and the epoll descriptor alone says when there is work: a
 * program with a loop of its own polls that and calls loop_dispatch.
 *
 * Race: one epoll_wait hands out several events, and the callback of the first may remove, even free, the source of the
 * second. So loop_remove also strikes the source from the batch being delivered. A timer that was armed anew or
 * disarmed by an earlier callback of the batch has nothing to read, and is then passed over.
 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"

#define BATCH_MAX 32

struct loop {
	int epoll_fd;
	struct epoll_event batch[BATCH_MAX];
	int n_batch; /* 0 outside loop_dispatch */
};

int loop_new(struct loop **ret_loop, struct error *err)
{
	cleanup_close int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct loop *loop;

	if (epoll_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "epoll_create1", "cannot make an event loop");
	loop = calloc(1, sizeof *loop);
	if (loop == NULL)
		return error_no_memory(err);
	loop->epoll_fd = steal_fd(&epoll_fd);
	*ret_loop = loop;
	return 0;
}

struct loop *loop_free(struct loop *loop)
{
	if (loop == NULL)
		return NULL;
	(void)fd_close(loop->epoll_fd);
	free(loop);
	return NULL;
}

int loop_fd(const struct loop *loop)
{
	return loop->epoll_fd;
}

static int control(struct loop *loop, int op, struct loop_source *source, struct error *err)
{
	struct epoll_event event = {.events = source->events, .data.ptr = source};

	if (epoll_ctl(loop->epoll_fd, op, source->fd, &event) < 0)
		return error_set_errno(err, ERROR_IO, errno, "epoll_ctl", "cannot wait for descriptor %d", source->fd);
	return 0;
}

int loop_add_fd(struct loop *loop, struct loop_source *source, int fd, uint32_t events, loop_fn fn, void *userdata,
	struct error *err)
{
	struct loop_source added = {.fd = fd, .events = events, .fn = fn, .userdata = userdata};
	struct loop_source previous = *source;

	assert(source->fd < 0);
	*source = added; /* the kernel is told the address of the owner's struct, so it is filled before */
	if (control(loop, EPOLL_CTL_ADD, source, err) == 0)
		return 0;
	*source = previous;
	return -1;
}

int loop_modify(struct loop *loop, struct loop_source *source, uint32_t events, struct error *err)
{
	uint32_t previous = source->events;

	if (events == previous)
		return 0;
	source->events = events;
	if (control(loop, EPOLL_CTL_MOD, source, err) == 0)
		return 0;
	source->events = previous;
	return -1;
}

static void strike_from_batch(struct loop *loop, const struct loop_source *source)
{
	int i;

	for (i = 0; i < loop->n_batch; i++) {
		if (loop->batch[i].data.ptr == source)
			loop->batch[i].data.ptr = NULL;
	}
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	if (source->fd < 0)
		return;
	strike_from_batch(loop, source);
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL); /* refused only where it is not there */
	if (source->timer)
		(void)fd_close(source->fd);
	*source = (struct loop_source)LOOP_SOURCE_INIT;
}

int loop_add_timer(struct loop *loop, struct loop_source *source, loop_fn fn, void *userdata, struct error *err)
{
	cleanup_close int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "timerfd_create", "cannot make a timer");
	if (loop_add_fd(loop, source, fd, EPOLLIN, fn, userdata, err) < 0)
		return -1;
	source->timer = true;
	(void)steal_fd(&fd);
	return 0;
}

int loop_arm(struct loop_source *source, uint64_t at_ns, struct error *err)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(at_ns / NS_PER_S), .tv_nsec = (long)(at_ns % NS_PER_S)}};

	if (timerfd_settime(source->fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return error_set_errno(err, ERROR_IO, errno, "timerfd_settime", "cannot set a timer");
	return 0;
}

/* False where the timer was armed anew or disarmed since the kernel reported it. */
static bool timer_expired(const struct loop_source *source)
{
	uint64_t times;

	return read(source->fd, &times, sizeof times) == sizeof times;
}

static int deliver(const struct epoll_event *event, struct error *err)
{
	struct loop_source *source = event->data.ptr;

	if (source == NULL || (source->timer && !timer_expired(source)))
		return 0;
	return source->fn(source, event->events, source->userdata, err);
}

int loop_dispatch(struct loop *loop, int timeout_ms, struct error *err)
{
	int i;
	int n;
	int r = 0;

	assert(loop->n_batch == 0); /* a callback must not dispatch its own loop */
	n = epoll_wait(loop->epoll_fd, loop->batch, BATCH_MAX, timeout_ms);
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return error_set_errno(err, ERROR_IO, errno, "epoll_wait", "cannot wait for events");
	loop->n_batch = n;
	for (i = 0; i < n && r >= 0; i++)
		r = deliver(&loop->batch[i], err);
	loop->n_batch = 0;
	return r < 0 ? -1 : 0;
}
