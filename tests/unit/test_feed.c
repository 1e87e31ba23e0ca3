#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/supervise/feed.h"
#include "tests/unit/harness.h"
#include "tests/unit/terminal.h"

TestSuite(feed, .fini = harness_leak_check, .timeout = 60);

Test(feed, feeds_as_the_reader_reads_and_closes)
{
	static char data[300000], got[300000];
	struct loop *loop = NULL;
	struct feed feed = FEED_INIT;
	struct error err = {0};
	int ends[2];
	size_t n = 0;
	ssize_t r;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)(i * 7 % 251);
	harness_ok(loop_new(&loop, &err), &err);
	cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	harness_ok(feed_open_take(&feed, loop, data, sizeof data, -1, ends[1], FEED_END_CLOSE, &err), &err);
	while ((r = read(ends[0], got + n, sizeof got - n)) != 0) {
		if (r > 0)
			n += (size_t)r;
		else
			harness_ok(loop_dispatch(loop, 20, &err), &err);
		if (n == sizeof got)
			break;
	}
	cr_expect_eq(n, sizeof data);
	cr_expect_eq(memcmp(data, got, n), 0);
	harness_ok(loop_dispatch(loop, 20, &err), &err);
	cr_expect(feed.finished);
	cr_expect_eq(read(ends[0], got, 1), 0, "no end of file");
	feed_close(&feed);
	fd_close(ends[0]);
	loop = loop_free(loop);
}

Test(feed, feed_survives_a_reader_that_leaves)
{
	static char data[300000];
	struct loop *loop = NULL;
	struct feed feed = FEED_INIT;
	struct error err = {0};
	int ends[2];

	cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	harness_ok(loop_new(&loop, &err), &err);
	cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	harness_ok(feed_open_take(&feed, loop, data, sizeof data, -1, ends[1], FEED_END_CLOSE, &err), &err);
	fd_close(ends[0]);
	harness_ok(loop_dispatch(loop, 20, &err), &err);
	cr_expect(feed.finished);
	feed_close(&feed);
	loop = loop_free(loop);
}

static void expect_terminal_input(const char *data, const char *expected)
{
	struct terminal t = open_terminal();
	struct loop *loop = NULL;
	struct feed feed = FEED_INIT;
	struct error err = {0};
	char line[64];
	ssize_t n;

	harness_ok(loop_new(&loop, &err), &err);
	harness_ok(feed_open_take(&feed, loop, data, strlen(data), -1, fcntl(t.master, F_DUPFD_CLOEXEC, 3),
			   FEED_END_VEOF, &err),
		&err);
	n = read(t.slave, line, sizeof line);
	cr_expect_eq(n, (ssize_t)strlen(expected));
	cr_expect_eq(memcmp(line, expected, strlen(expected)), 0);
	if (n > 0)
		cr_expect_eq(read(t.slave, line, sizeof line), 0, "no end of file");
	feed_close(&feed);
	loop = loop_free(loop);
	fd_close(t.master);
	fd_close(t.slave);
}

Test(feed, a_terminal_ends_its_input_by_a_character)
{
	expect_terminal_input("hello\n", "hello\n");
	expect_terminal_input("half a line", "half a line");
	expect_terminal_input("", "");
}
