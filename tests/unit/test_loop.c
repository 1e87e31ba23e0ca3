#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/monotime.h"
#include "tests/unit/harness.h"

TestSuite(loop, .fini = harness_leak_check, .timeout = 20);

/* One end of a pipe with a byte in it is always readable. */
struct ready {
	struct loop_source source;
	int fds[2];
	int calls;
	uint32_t events;
};

static struct loop *new_loop(void)
{
	struct loop *loop = NULL;
	struct error err;

	harness_ok(loop_new(&loop, &err), &err);
	return loop;
}

static void dispatch(struct loop *loop, int timeout_ms)
{
	struct error err;

	harness_ok(loop_dispatch(loop, timeout_ms, &err), &err);
}

static int count_call(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct ready *ready = userdata;

	(void)err;
	cr_assert_eq(source, &ready->source);
	ready->calls++;
	ready->events = events;
	return 0;
}

static void ready_start(struct ready *ready, struct loop *loop, loop_fn fn, void *userdata)
{
	struct error err;

	*ready = (struct ready){.source = LOOP_SOURCE_INIT};
	cr_assert_eq(pipe2(ready->fds, O_CLOEXEC | O_NONBLOCK), 0);
	cr_assert_eq(write(ready->fds[1], "x", 1), 1);
	harness_ok(loop_add_fd(loop, &ready->source, ready->fds[0], EPOLLIN, fn, userdata, &err), &err);
}

static void ready_stop(struct ready *ready, struct loop *loop)
{
	loop_remove(loop, &ready->source);
	(void)fd_close(ready->fds[0]);
	(void)fd_close(ready->fds[1]);
}

Test(loop, delivers_and_stops_after_remove)
{
	int before = harness_count_fds();

	{
		cleanup_with(loop_freep) struct loop *loop = new_loop();
		struct ready ready;

		ready_start(&ready, loop, count_call, &ready);
		dispatch(loop, 0);
		cr_expect_eq(ready.calls, 1);
		cr_expect_eq(ready.events, EPOLLIN);
		dispatch(loop, -1);
		cr_expect_eq(ready.calls, 2, "level triggered");
		loop_remove(loop, &ready.source);
		cr_expect_eq(ready.source.fd, -1);
		loop_remove(loop, &ready.source);
		dispatch(loop, 0);
		cr_expect_eq(ready.calls, 2);
		cr_expect_neq(fcntl(ready.fds[0], F_GETFD), -1, "the descriptor was borrowed");
		ready_stop(&ready, loop);
	}
	cr_expect_eq(harness_count_fds(), before);
}

Test(loop, its_descriptor_says_when_there_is_work)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct pollfd outer = {.fd = loop_fd(loop), .events = POLLIN};
	struct ready ready;

	cr_expect_eq(poll(&outer, 1, 0), 0);
	ready_start(&ready, loop, count_call, &ready);
	cr_expect_eq(poll(&outer, 1, 0), 1);
	ready_stop(&ready, loop);
	cr_expect_eq(poll(&outer, 1, 0), 0);
	cr_expect_eq(fcntl(loop_fd(loop), F_GETFD), FD_CLOEXEC);
}

Test(loop, modify_changes_what_is_waited_for)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct ready ready;
	struct error err = {0};

	ready_start(&ready, loop, count_call, &ready);
	harness_ok(loop_modify(loop, &ready.source, 0, &err), &err);
	dispatch(loop, 0);
	cr_expect_eq(ready.calls, 0);
	harness_ok(loop_modify(loop, &ready.source, EPOLLIN, &err), &err);
	dispatch(loop, 0);
	cr_expect_eq(ready.calls, 1);
	(void)fd_close(ready.fds[1]);
	ready.fds[1] = -1;
	dispatch(loop, 0);
	cr_expect_eq(ready.events, EPOLLIN | EPOLLHUP);
	ready_stop(&ready, loop);
	cr_expect_lt(loop_modify(loop, &ready.source, EPOLLIN, &err), 0, "no longer registered");
}

Test(loop, refuses_a_regular_file_by_name)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct loop_source source = LOOP_SOURCE_INIT;
	struct error err = {0};
	cleanup_close int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(file, 0);
	cr_expect_lt(loop_add_fd(loop, &source, file, EPOLLIN, count_call, NULL, &err), 0);
	cr_expect_eq(err.code, ERROR_IO);
	cr_expect_eq(err.sys_errno, EPERM);
	cr_expect_eq(source.fd, -1);
}

static int fail_call(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source;
	(void)events;
	(void)userdata;
	return error_set(err, ERROR_LIMIT, "callback", "it is enough");
}

Test(loop, failure_of_a_callback_ends_the_dispatch)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct ready ready;
	struct error err = {0};

	ready_start(&ready, loop, fail_call, NULL);
	cr_expect_eq(loop_dispatch(loop, 0, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_eq(loop_dispatch(loop, 0, &err), -1, "the loop is still usable");
	ready_stop(&ready, loop);
	dispatch(loop, 0);
}

struct killer {
	struct loop *loop;
	struct ready *victims[2]; /* freed by the first call, whoever gets it */
	int calls;
};

static int kill_all(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct killer *killer = userdata;

	(void)source;
	(void)events;
	(void)err;
	killer->calls++;
	for (size_t i = 0; i < 2; i++) {
		ready_stop(killer->victims[i], killer->loop);
		free(killer->victims[i]);
		killer->victims[i] = NULL;
	}
	return 0;
}

/* Both are ready at once; the first callback frees both, itself included. AddressSanitizer sees a second one. */
Test(loop, callback_may_free_every_source_of_the_batch)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct killer killer = {.loop = loop};

	for (size_t i = 0; i < 2; i++) {
		killer.victims[i] = malloc(sizeof *killer.victims[i]);
		cr_assert_not_null(killer.victims[i]);
		ready_start(killer.victims[i], loop, kill_all, &killer);
	}
	dispatch(loop, 0);
	cr_expect_eq(killer.calls, 1);
	dispatch(loop, 0);
	cr_expect_eq(killer.calls, 1);
}

struct adder {
	struct loop *loop;
	struct ready *added;
};

static int add_another(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct adder *adder = userdata;

	(void)events;
	(void)err;
	loop_remove(adder->loop, source);
	ready_start(adder->added, adder->loop, count_call, adder->added);
	return 0;
}

Test(loop, callback_may_add_sources)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct ready first, added = {.source = LOOP_SOURCE_INIT};
	struct adder adder = {.loop = loop, .added = &added};

	ready_start(&first, loop, add_another, &adder);
	dispatch(loop, 0);
	cr_expect_eq(added.calls, 0);
	dispatch(loop, 0);
	cr_expect_eq(added.calls, 1);
	ready_stop(&added, loop);
	ready_stop(&first, loop);
}

Test(loop, more_sources_than_one_batch)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct ready many[100];

	for (size_t i = 0; i < 100; i++)
		ready_start(&many[i], loop, count_call, &many[i]);
	for (size_t i = 0; i < 8; i++)
		dispatch(loop, 0);
	for (size_t i = 0; i < 100; i++) {
		cr_expect_gt(many[i].calls, 0, "source %zu starves", i);
		ready_stop(&many[i], loop);
	}
}

static int count_tick(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source;
	(void)events;
	(void)err;
	(*(int *)userdata)++;
	return 0;
}

static void arm(struct loop_source *source, uint64_t at_ns)
{
	struct error err;

	harness_ok(loop_arm(source, at_ns, &err), &err);
}

Test(loop, timer_fires_once_and_not_before)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct loop_source timer = LOOP_SOURCE_INIT;
	int before = harness_count_fds(), ticks = 0;
	uint64_t at = monotime_after_ns(20 * NS_PER_MS);
	struct error err;

	harness_ok(loop_add_timer(loop, &timer, count_tick, &ticks, &err), &err);
	dispatch(loop, 5);
	cr_expect_eq(ticks, 0, "unarmed");
	arm(&timer, at);
	while (ticks == 0)
		dispatch(loop, -1);
	cr_expect_geq(monotime_ns(), at);
	dispatch(loop, 5);
	cr_expect_eq(ticks, 1);
	loop_remove(loop, &timer);
	cr_expect_eq(harness_count_fds(), before);
	cr_expect_lt(loop_arm(&timer, at, &err), 0);
}

Test(loop, timer_in_the_past_disarmed_and_never)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct loop_source timer = LOOP_SOURCE_INIT;
	struct error err;
	int ticks = 0;

	harness_ok(loop_add_timer(loop, &timer, count_tick, &ticks, &err), &err);
	arm(&timer, 1);
	dispatch(loop, 1000);
	cr_expect_eq(ticks, 1);
	arm(&timer, 1);
	arm(&timer, 0);
	dispatch(loop, 5);
	cr_expect_eq(ticks, 1);
	arm(&timer, 1);
	arm(&timer, UINT64_MAX);
	dispatch(loop, 5);
	cr_expect_eq(ticks, 1);
	arm(&timer, UINT64_MAX - 1);
	dispatch(loop, 5);
	cr_expect_eq(ticks, 1, "in 584 years");
	loop_remove(loop, &timer);
}

static int rearm_others(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct loop_source *const *timers = userdata;

	(void)events;
	for (size_t i = 0; timers[i] != NULL; i++) {
		if (timers[i] != source && loop_arm(timers[i], 0, err) < 0)
			return -1;
	}
	source->userdata = NULL; /* this one has run */
	return 0;
}

/* Two timers expire together; the first to be delivered disarms the other, which then must not run. */
Test(loop, timer_disarmed_within_the_batch_is_passed_over)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct loop_source a = LOOP_SOURCE_INIT, b = LOOP_SOURCE_INIT;
	struct loop_source *timers[] = {&a, &b, NULL};
	struct error err;

	harness_ok(loop_add_timer(loop, &a, rearm_others, timers, &err), &err);
	harness_ok(loop_add_timer(loop, &b, rearm_others, timers, &err), &err);
	arm(&a, 1);
	arm(&b, 1);
	dispatch(loop, 1000);
	dispatch(loop, 0);
	cr_expect_neq(a.userdata == NULL, b.userdata == NULL, "one ran, the other did not");
	loop_remove(loop, &a);
	loop_remove(loop, &b);
}

static void do_nothing(int signo)
{
	(void)signo;
}

Test(loop, a_signal_ends_the_wait_without_error)
{
	cleanup_with(loop_freep) struct loop *loop = new_loop();
	struct sigaction action = {.sa_handler = do_nothing};
	struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}};

	cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	dispatch(loop, 10000);
	soon = (struct itimerval){0};
	cr_assert_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
}

Test(loop, free_accepts_null)
{
	cr_expect_null(loop_free(NULL));
}
