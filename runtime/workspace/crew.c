/*
 * Threads of one call. They take the next index until there is none; a failure makes stop_fd readable, which whatever
 * is done for long looks at (work_check).
 *
 * The library is a guest: its threads take no signal, which would run a handler of the program's own where that does
 * not expect it. Where no thread can be had, those that are there do it all.
 */
#include "runtime/workspace/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HANDS_MAX 64

struct crew {
	size_t n;
	atomic_size_t next;
	int (*act)(void *context, size_t index, struct error *err);
	void *context;
	int stop_fd;
	pthread_mutex_t lock; /* of what follows */
	bool failed;
	size_t failed_index;
	struct error error;
};

/* What failed by itself goes before what was only ended by that. */
static bool is_nearer(const struct crew *crew, size_t index, const struct error *error)
{
	bool was_cancelled = crew->error.code == ERROR_CANCELLED, is_cancelled = error->code == ERROR_CANCELLED;

	if (!crew->failed || was_cancelled != is_cancelled)
		return !crew->failed || was_cancelled;
	return index < crew->failed_index;
}

static void tell_failure(struct crew *crew, size_t index, const struct error *error)
{
	const uint64_t one = 1;

	(void)pthread_mutex_lock(&crew->lock);
	if (is_nearer(crew, index, error)) {
		crew->failed = true;
		crew->failed_index = index;
		crew->error = *error;
	}
	(void)pthread_mutex_unlock(&crew->lock);
	/* A counter of 64 bits takes it. */
	(void)!write(crew->stop_fd, &one, sizeof one);
}

static bool has_failed(struct crew *crew)
{
	bool failed;

	(void)pthread_mutex_lock(&crew->lock);
	failed = crew->failed;
	(void)pthread_mutex_unlock(&crew->lock);
	return failed;
}

static void *work_along(void *arg)
{
	struct crew *crew = arg;

	for (;;) {
		size_t index = atomic_fetch_add(&crew->next, 1);
		struct error error = {};

		if (index >= crew->n || has_failed(crew))
			return NULL;
		if (crew->act(crew->context, index, &error) < 0)
			tell_failure(crew, index, &error);
	}
}

static void run(struct crew *crew, unsigned hands)
{
	pthread_t threads[HANDS_MAX];
	unsigned n = 0;
	sigset_t all, before;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n + 1 < hands && n < HANDS_MAX && pthread_create(&threads[n], NULL, work_along, crew) == 0)
		n++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)work_along(crew);
	while (n-- > 0)
		(void)pthread_join(threads[n], NULL);
}

int crew_do(size_t n, unsigned hands, int (*act)(void *context, size_t index, struct error *err), void *context,
	struct work *work, struct error *err)
{
	cleanup_close int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct crew crew = {
		.n = n, .act = act, .context = context, .stop_fd = stop_fd, .lock = PTHREAD_MUTEX_INITIALIZER};
	int before = work->stop_fd;

	if (stop_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "eventfd", "cannot prepare to work side by side");
	work->stop_fd = stop_fd;
	run(&crew, hands);
	work->stop_fd = before;
	if (crew.failed && err != NULL)
		*err = crew.error;
	return crew.failed ? -1 : 0;
}
