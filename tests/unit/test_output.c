#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/supervise/output.h"
#include "tests/unit/harness.h"
#include "tests/unit/terminal.h"

TestSuite(output, .fini = harness_leak_check, .timeout = 60);

struct watched {
	struct loop *loop;
	struct output output;
	struct output_events events;
	struct arena *arena;
	char *buffer;
	int pipe[2];
	int gone, finished;
	int sys_errno;
	size_t seen;
};

static int on_chunk(void *userdata, int stream, const char *data, size_t size, struct error *err)
{
	struct watched *w = userdata;

	(void)data, (void)err;
	cr_expect_eq(stream, 1);
	w->seen += size;
	return 0;
}

static int on_gone(void *userdata, int stream, int sys_errno, struct error *err)
{
	struct watched *w = userdata;

	(void)stream, (void)err;
	w->gone++;
	w->sys_errno = sys_errno;
	return 0;
}

static int on_finished(void *userdata, struct error *err)
{
	struct watched *w = userdata;

	(void)err;
	w->finished++;
	return 0;
}

static void watch(struct watched *w, int consumer, uint64_t cap)
{
	struct output_route route = {.stream = 1, .consumer_fd = consumer, .cap = cap};
	struct error err = {0};

	*w = (struct watched){.pipe = {-1, -1}};
	w->events = (struct output_events){on_chunk, on_gone, on_finished, w};
	w->buffer = malloc(OUTPUT_BUFFER_SIZE);
	cr_assert_not_null(w->buffer);
	harness_ok(arena_new(&w->arena, &err), &err);
	harness_ok(loop_new(&w->loop, &err), &err);
	cr_assert_eq(pipe2(w->pipe, O_CLOEXEC), 0);
	harness_ok(fd_set_nonblock(w->pipe[0], true, &err), &err);
	route.fd = w->pipe[0];
	harness_ok(output_open(&w->output, w->loop, &route, &w->events, w->buffer, &err), &err);
}

static void unwatch(struct watched *w)
{
	output_close(&w->output);
	fd_close(w->pipe[0]);
	fd_close(w->pipe[1]);
	w->loop = loop_free(w->loop);
	w->arena = arena_free(w->arena);
	free(w->buffer);
}

static void turn(struct watched *w, int times)
{
	struct error err = {0};

	while (times-- > 0)
		harness_ok(loop_dispatch(w->loop, 20, &err), &err);
}

static struct outcome_stream finish(struct watched *w)
{
	struct error err = {0};
	struct outcome_stream stream;

	harness_ok(output_finish(&w->output, &err), &err);
	harness_ok(output_result(&w->output, w->arena, &stream, &err), &err);
	return stream;
}

Test(output, captures_without_waiting_for_the_end_of_the_pipe)
{
	struct watched w;
	struct outcome_stream stream;

	watch(&w, -1, 1000);
	cr_assert_eq(write(w.pipe[1], "one ", 4), 4);
	turn(&w, 1);
	cr_assert_eq(write(w.pipe[1], "two", 3), 3);
	stream = finish(&w); /* the write end is still open */
	cr_expect(output_is_finished(&w.output));
	cr_expect(stream.captured);
	cr_expect_eq(stream.kept, 7);
	cr_expect_eq(memcmp(stream.data, "one two", 7), 0);
	cr_expect_eq(w.seen, 7);
	unwatch(&w);
}

/* A process outside the tree has the descriptor and writes for ever. */
Test(output, ends_although_somebody_goes_on_writing)
{
	struct watched w;
	pid_t pid;

	watch(&w, -1, 1000);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		static char chunk[65536];

		while (write(w.pipe[1], chunk, sizeof chunk) > 0)
			;
		_exit(0);
	}
	turn(&w, 5);
	(void)finish(&w);
	cr_expect(output_is_finished(&w.output));
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	unwatch(&w);
}

Test(output, passes_on_to_a_file_up_to_the_cap_and_drains)
{
	struct watched w;
	struct outcome_stream stream;
	char path[64], text[16] = "";
	int dirfd = harness_tmpdir(path, sizeof path);
	int file = openat(dirfd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(file, 0);
	watch(&w, file, 6);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(write(w.pipe[1], "abcd", 4), 4);
		turn(&w, 1);
	}
	stream = finish(&w);
	cr_expect_not(stream.captured);
	cr_expect_eq(stream.bytes, 20);
	cr_expect_eq(stream.omitted_bytes, 14);
	cr_expect_eq(stream.omitted_at, 6);
	cr_expect_eq(pread(file, text, sizeof text, 0), 6);
	cr_expect_str_eq(text, "abcdab");
	unwatch(&w);
	fd_close(file);
	fd_close(dirfd);
	harness_rm_tree(path);
}

Test(output, waits_for_a_slow_consumer_and_keeps_its_flags)
{
	struct watched w;
	int consumer[2];
	static char chunk[65536], taken[65536];
	size_t written = 0, got = 0;
	ssize_t n;

	cr_assert_eq(pipe2(consumer, O_CLOEXEC), 0);
	watch(&w, consumer[1], UINT64_MAX);
	cr_assert_eq(fcntl(w.pipe[1], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 50; i++) {
		n = write(w.pipe[1], chunk, sizeof chunk);
		written += n > 0 ? (size_t)n : 0;
		turn(&w, 1);
	}
	cr_expect_lt(written, 50 * sizeof chunk, "the command was not made to wait");
	cr_expect_eq(fcntl(consumer[1], F_GETFL) & O_NONBLOCK, 0);
	(void)finish(&w);
	cr_expect_not(output_is_finished(&w.output));
	while (got < written && (n = read(consumer[0], taken, sizeof taken)) > 0) {
		got += (size_t)n;
		turn(&w, 1);
	}
	cr_expect_eq(got, written);
	cr_expect_eq(w.finished, 1);
	unwatch(&w);
	fd_close(consumer[0]);
	fd_close(consumer[1]);
}

/* With SIGPIPE at its default, dying of it would fail the test. */
Test(output, tells_when_the_reader_has_gone)
{
	struct watched w;
	int consumer[2];

	cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	cr_assert_eq(pipe2(consumer, O_CLOEXEC), 0);
	watch(&w, consumer[1], UINT64_MAX);
	fd_close(consumer[0]);
	turn(&w, 1);
	cr_expect_eq(w.gone, 0, "nothing was written yet");
	cr_assert_eq(write(w.pipe[1], "x", 1), 1);
	turn(&w, 1);
	cr_expect_eq(w.gone, 1);
	cr_expect_eq(w.sys_errno, EPIPE);
	unwatch(&w);
	fd_close(consumer[1]);
}

Test(output, tells_when_the_reader_had_gone_before)
{
	struct watched w;
	int consumer[2];

	cr_assert_eq(pipe2(consumer, O_CLOEXEC), 0);
	fd_close(consumer[0]);
	watch(&w, consumer[1], UINT64_MAX);
	cr_assert_eq(write(w.pipe[1], "x", 1), 1);
	turn(&w, 1);
	cr_expect_geq(w.gone, 1);
	unwatch(&w);
	fd_close(consumer[1]);
}

Test(output, tells_when_the_file_is_full)
{
	struct watched w;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_geq(full, 0);
	watch(&w, full, UINT64_MAX);
	cr_assert_eq(write(w.pipe[1], "x", 1), 1);
	turn(&w, 1);
	cr_expect_geq(w.gone, 1);
	cr_expect_eq(w.sys_errno, ENOSPC);
	unwatch(&w);
	fd_close(full);
}

Test(output, a_terminal_nobody_uses_any_more_is_an_end_of_file)
{
	struct terminal t = open_terminal();
	struct watched w;
	struct error err = {0};
	struct outcome_stream stream;

	watch(&w, -1, 1000);
	output_close(&w.output);
	harness_ok(
		output_open(&w.output, w.loop, &(struct output_route){t.master, 1, -1, 1000}, &w.events, w.buffer, &err),
		&err);
	cr_assert_eq(write(t.slave, "hi\n", 3), 3);
	fd_close(t.slave);
	turn(&w, 3);
	cr_expect(w.output.eof);
	stream = finish(&w);
	cr_expect_eq(stream.kept, 4);
	cr_expect_eq(memcmp(stream.data, "hi\r\n", 4), 0);
	unwatch(&w);
	fd_close(t.master);
}
