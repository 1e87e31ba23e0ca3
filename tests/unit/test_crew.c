/* Work side by side, and long work that is ended, counted and told. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/workspace/crew.h"
#include "tests/unit/harness.h"

TestSuite(crew, .fini = harness_leak_check, .timeout = 60);

struct ground {
	struct work work;
	atomic_int in_flight, most, done;
	int fails_at, also_fails_at; /* -1: none */
};

static void rest(long milliseconds)
{
	const struct timespec span = {.tv_nsec = milliseconds * 1000000};

	(void)nanosleep(&span, NULL);
}

static int act(void *context, size_t index, struct error *err)
{
	struct ground *ground = context;
	int now = atomic_fetch_add(&ground->in_flight, 1) + 1, most = atomic_load(&ground->most), r = 0;

	while (now > most && !atomic_compare_exchange_weak(&ground->most, &most, now))
		;
	rest(2);
	if ((int)index == ground->fails_at || (int)index == ground->also_fails_at)
		r = error_set(err, ERROR_IO, "act", "%zu failed", index);
	while (r == 0 && ground->fails_at >= 0 && (int)index < ground->fails_at + 3) { /* its siblings wait to be ended */
		rest(1);
		r = work_check(&ground->work, err);
	}
	if (r == 0)
		atomic_fetch_add(&ground->done, 1);
	atomic_fetch_sub(&ground->in_flight, 1);
	return r;
}

Test(crew, keeps_to_the_number_of_hands)
{
	static const unsigned hands[] = {1, 2, 7, 64};

	for (size_t i = 0; i < sizeof hands / sizeof *hands; i++) {
		struct ground ground = {.work = WORK_INIT, .fails_at = -1, .also_fails_at = -1};
		struct error err = {0};

		harness_ok(crew_do(100, hands[i], act, &ground, &ground.work, &err), &err);
		cr_expect_eq(ground.done, 100);
		cr_expect_leq(ground.most, (int)hands[i]);
		cr_expect(ground.most > 1 || hands[i] == 1, "nothing ran side by side");
		cr_expect_eq(ground.work.stop_fd, -1);
	}
}

Test(crew, ends_the_others_and_tells_what_failed)
{
	int before = harness_count_fds();

	for (int round = 0; round < 20; round++) {
		struct ground ground = {.work = WORK_INIT, .fails_at = 5, .also_fails_at = -1};
		struct error err = {0};

		cr_assert_lt(crew_do(1000, 8, act, &ground, &ground.work, &err), 0);
		cr_expect_eq(err.code, ERROR_IO, "%s", err.text);
		cr_expect_str_eq(err.text, "5 failed");
		cr_expect_lt(ground.done, 900, "%d went on", ground.done);
		cr_expect_eq(ground.in_flight, 0);
	}
	cr_expect_eq(harness_count_fds(), before);
}

Test(crew, is_ended_by_the_caller)
{
	struct ground ground = {.work = WORK_INIT, .fails_at = 1 << 20, .also_fails_at = -1};
	struct error err = {0};
	int fd = eventfd(1, EFD_CLOEXEC);

	ground.work.cancel_fd = fd;
	cr_assert_lt(crew_do(10, 3, act, &ground, &ground.work, &err), 0);
	cr_expect_eq(err.code, ERROR_CANCELLED);
	cr_expect_eq(ground.done, 0);
	fd_close(fd);
}

static void keep_last(void *context, uint64_t files, uint64_t bytes)
{
	uint64_t *last = context;

	last[0] = files;
	last[1] = bytes;
}

Test(crew, counts_and_tells_up_to_a_limit)
{
	struct work work = WORK_INIT;
	struct error err = {0};
	uint64_t last[2] = {0};

	work.tell = keep_last;
	work.context = last;
	work.files_max = 2;
	work.bytes_max = 100;
	harness_ok(work_count(&work, 1, 60, "a", &err), &err);
	harness_ok(work_count(&work, 1, 40, "b", &err), &err);
	cr_expect(last[0] == 2 && last[1] == 100);
	cr_assert_lt(work_count(&work, 1, 0, "c\n", &err), 0);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_str_eq(err.text, "c\\x0a: more than 2 files and directories");
	cr_expect(err.n_context == 2 && strcmp(err.context[0].value, "2") == 0 && strcmp(err.context[1].value, "3") == 0);
	work.files_max = WORK_NO_LIMIT;
	cr_assert_lt(work_count(&work, 0, 1, "d", &err), 0);
	cr_expect_str_eq(err.text, "d: more than 100 bytes");
}

Test(crew, polls_what_it_is_ended_by)
{
	struct pollfd fds[WORK_FDS_MAX];
	struct work work = WORK_INIT;
	struct error err = {0};
	int fd = eventfd(0, EFD_CLOEXEC);
	const uint64_t one = 1;

	cr_expect_eq(work_poll_fds(&work, fds), 0);
	work.stop_fd = fd;
	cr_assert_eq(work_poll_fds(&work, fds), 1);
	cr_expect_eq(fds[0].fd, fd);
	harness_ok(work_check(&work, &err), &err);
	cr_assert_eq(write(fd, &one, sizeof one), (ssize_t)sizeof one);
	cr_expect_lt(work_check(&work, &err), 0);
	cr_expect_lt(work_check(&work, &err), 0, "it was read");
	fd_close(fd);
}
