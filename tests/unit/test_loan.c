#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/supervise/loan.h"
#include "tests/unit/harness.h"

TestSuite(loan, .fini = harness_leak_check, .timeout = 60);

struct scene {
	struct loop *loop;
	struct loan loan;
	int caller[2], command[2];
};

/* The caller's pipe holds data; its writing end stays open. */
static void scene_open(struct scene *scene, const char *data)
{
	struct error err = {0};

	*scene = (struct scene){.loan = LOAN_INIT};
	harness_ok(loop_new(&scene->loop, &err), &err);
	cr_assert_eq(pipe2(scene->caller, O_CLOEXEC | O_NONBLOCK), 0);
	cr_assert_eq(pipe2(scene->command, O_CLOEXEC | O_NONBLOCK), 0);
	cr_assert_eq(write(scene->caller[1], data, strlen(data)), (ssize_t)strlen(data));
	harness_ok(loan_open_take(&scene->loan, scene->loop, scene->caller[0], scene->command[1], &err), &err);
}

static void turn(struct scene *scene)
{
	struct error err = {0};

	harness_ok(loop_dispatch(scene->loop, 20, &err), &err);
}

static void expect_left(struct scene *scene, const char *data)
{
	char left[64] = "";

	cr_expect_eq(read(scene->caller[0], left, sizeof left - 1), (ssize_t)strlen(data));
	cr_expect_str_eq(left, data);
}

static void scene_close(struct scene *scene)
{
	loan_close(&scene->loan);
	fd_close(scene->caller[0]);
	fd_close(scene->caller[1]);
	fd_close(scene->command[0]);
	scene->loop = loop_free(scene->loop);
}

Test(loan, what_is_not_read_stays_with_the_caller)
{
	struct scene scene;
	char got[8];

	scene_open(&scene, "one two three");
	cr_expect_eq(read(scene.command[0], got, 4), 4);
	turn(&scene);
	loan_close(&scene.loan);
	expect_left(&scene, "two three");
	scene_close(&scene);
}

Test(loan, what_is_read_is_taken_and_more_is_lent)
{
	struct scene scene;
	char got[64];

	scene_open(&scene, "one");
	cr_expect_eq(read(scene.command[0], got, sizeof got), 3);
	turn(&scene);
	cr_assert_eq(write(scene.caller[1], "two", 3), 3);
	turn(&scene);
	cr_expect_eq(read(scene.command[0], got, sizeof got), 3);
	cr_expect_eq(memcmp(got, "two", 3), 0);
	turn(&scene);
	cr_expect(!scene.loan.finished);
	fd_close(scene.caller[1]);
	scene.caller[1] = -1;
	turn(&scene);
	cr_expect(scene.loan.finished);
	cr_expect_eq(read(scene.command[0], got, sizeof got), 0, "no end of file");
	scene_close(&scene);
}

Test(loan, much_goes_through_whole)
{
	static char data[60000], got[60000];
	struct scene scene;
	size_t n = 0;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)(i * 7 % 251);
	scene_open(&scene, "");
	for (int round = 0; round < 20; round++, n = 0) {
		cr_assert_eq(write(scene.caller[1], data, sizeof data), (ssize_t)sizeof data);
		while (n < sizeof got) {
			ssize_t r = read(scene.command[0], got + n, sizeof got - n);

			if (r > 0)
				n += (size_t)r;
			else
				turn(&scene);
		}
		cr_assert_eq(memcmp(data, got, n), 0);
		turn(&scene); /* takes the last of it */
	}
	scene_close(&scene);
}

Test(loan, a_command_that_fills_its_own_pipe_takes_nothing)
{
	struct scene scene;

	scene_open(&scene, "mine");
	cr_assert_geq(fcntl(scene.command[0], F_SETPIPE_SZ, 65536), 0);
	cr_assert_eq(write(scene.command[1], "its own", 7), 7);
	for (int i = 0; i < 20; i++)
		turn(&scene);
	cr_expect_gt(scene.loan.pause_ns, 1000000, "it is looked at all the time");
	loan_close(&scene.loan);
	expect_left(&scene, "mine");
	scene_close(&scene);
}

Test(loan, a_reader_that_leaves_is_no_error)
{
	struct scene scene;

	cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	scene_open(&scene, "");
	fd_close(scene.command[0]);
	scene.command[0] = -1;
	cr_assert_eq(write(scene.caller[1], "unread", 6), 6);
	turn(&scene);
	cr_expect(scene.loan.finished);
	expect_left(&scene, "unread");
	scene_close(&scene);
}

Test(loan, a_reader_that_leaves_while_it_owes_is_seen)
{
	struct scene scene;

	scene_open(&scene, "unread");
	fd_close(scene.command[0]);
	scene.command[0] = -1;
	turn(&scene);
	cr_expect(scene.loan.finished);
	expect_left(&scene, "unread");
	scene_close(&scene);
}
