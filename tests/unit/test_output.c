#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/supervise/feed.h"
#include "runtime/supervise/keep.h"
#include "runtime/supervise/output.h"
#include "runtime/supervise/passage.h"
#include "runtime/supervise/quiet_write.h"
#include "runtime/supervise/relay.h"
#include "tests/unit/harness.h"

TestSuite(output, .fini = harness_leak_check, .timeout = 60);

#define EURO "\xe2\x82\xac"

/* --- keep -------------------------------------------------------------------------------------------------------- */

struct kept {
	struct keep keep;
	struct arena *arena;
	struct outcome_stream stream;
};

static struct kept keep_in_chunks(const char *data, size_t size, uint64_t cap, size_t chunk)
{
	struct kept kept = {0};
	struct error err = {0};

	harness_ok(arena_new(&kept.arena, &err), &err);
	keep_init(&kept.keep, cap);
	for (size_t at = 0; at < size; at += chunk)
		harness_ok(keep_add(&kept.keep, data + at, size - at < chunk ? size - at : chunk, &err), &err);
	harness_ok(keep_finish(&kept.keep, kept.arena, &kept.stream, &err), &err);
	return kept;
}

static void drop(struct kept *kept)
{
	keep_done(&kept->keep);
	kept->arena = arena_free(kept->arena);
}

static void expect_kept(const char *data, uint64_t cap, const char *expected, uint64_t omitted_at)
{
	for (size_t chunk = 1; chunk <= strlen(data); chunk++) {
		struct kept kept = keep_in_chunks(data, strlen(data), cap, chunk);

		cr_expect_eq(kept.stream.kept, strlen(expected), "%s by %zu: kept %zu", data, chunk, kept.stream.kept);
		cr_expect_eq(memcmp(kept.stream.data, expected, strlen(expected)), 0, "%s by %zu", data, chunk);
		cr_expect_eq(kept.stream.bytes, strlen(data));
		cr_expect_eq(kept.stream.omitted_bytes, strlen(data) - strlen(expected));
		if (kept.stream.omitted_bytes > 0)
			cr_expect_eq(kept.stream.omitted_at, omitted_at, "%s by %zu", data, chunk);
		drop(&kept);
	}
}

Test(output, keep_takes_head_and_tail)
{
	expect_kept("0123456789", 10, "0123456789", 0);
	expect_kept("0123456789", UINT64_MAX, "0123456789", 0);
	expect_kept("0123456789", 4, "0189", 2);
	expect_kept("0123456789", 5, "01289", 3);
	expect_kept("0123456789", 1, "0", 1);
	expect_kept("0123456789", 9, "012346789", 5);
}

Test(output, keep_splits_no_character)
{
	expect_kept(EURO EURO, 4, EURO, 0); /* the tail uses what the head gave up */
	expect_kept("ab" EURO EURO "cd", 6,
		"ab"
		"cd",
		2);
	expect_kept("a" EURO EURO "b", 4, "ab", 1);
}

Test(output, keep_of_nothing_counts)
{
	struct kept kept = keep_in_chunks("hello", 5, 0, 2);

	cr_expect_eq(kept.stream.kept, 0);
	cr_expect_eq(kept.stream.bytes, 5);
	cr_expect_eq(kept.stream.omitted_bytes, 5);
	drop(&kept);
}

Test(output, keep_does_not_outgrow_its_cap)
{
	struct kept kept = {0};
	struct error err = {0};
	static char chunk[65536];

	harness_ok(arena_new(&kept.arena, &err), &err);
	keep_init(&kept.keep, 100000);
	for (int i = 0; i < 200; i++)
		harness_ok(keep_add(&kept.keep, chunk, sizeof chunk, &err), &err);
	cr_expect_leq(kept.keep.allocated, 100003);
	cr_expect_eq(kept.keep.total, 200 * sizeof chunk);
	drop(&kept);
}

/* Whatever the cap, a text stays a text, is at most as long as the cap, and loses less than two characters to the cut. */
Test(output, keep_leaves_text_valid_at_every_cap)
{
	static const char text[] = "a" EURO "\xc3\xa4z\xf0\x9f\x98\x80" EURO EURO "q\xc3\xb6" EURO
				   "\xf0\x9f\x98\x80xyz" EURO;
	size_t size = sizeof text - 1;

	for (uint64_t cap = 1; cap <= size + 1; cap++) {
		for (size_t chunk = 1; chunk <= size; chunk += 3) {
			struct kept kept = keep_in_chunks(text, size, cap, chunk);
			struct outcome_stream *s = &kept.stream;

			cr_expect(str_utf8_valid(s->data, s->kept), "cap %zu", (size_t)cap);
			cr_expect_leq(s->kept, cap);
			cr_expect_geq(s->kept + 6, cap < size ? cap : size);
			cr_expect_eq(s->kept + s->omitted_bytes, size);
			cr_expect_eq(memcmp(s->data, text, s->omitted_bytes > 0 ? s->omitted_at : size), 0);
			drop(&kept);
		}
	}
}

/* --- passage ----------------------------------------------------------------------------------------------------- */

static void expect_passed(const char *data, uint64_t cap, const char *expected)
{
	for (size_t chunk = 1; chunk <= strlen(data); chunk++) {
		struct passage passage = {.cap = cap, .closed = cap == 0};
		char out[256] = "";
		size_t n = 0;

		for (size_t at = 0; at < strlen(data); at += chunk) {
			size_t size = strlen(data) - at < chunk ? strlen(data) - at : chunk;

			n += passage_take(&passage, data + at, size, out + n);
		}
		n += passage_end(&passage, out + n);
		cr_expect_eq(n, strlen(expected), "%s cap %zu by %zu: %zu", data, (size_t)cap, chunk, n);
		cr_expect_eq(memcmp(out, expected, n), 0);
		cr_expect_eq(passage.passed, n);
	}
}

Test(output, passage_ends_at_the_cap_between_characters)
{
	expect_passed("0123456789", 4, "0123");
	expect_passed("0123456789", 10, "0123456789");
	expect_passed("0123456789", UINT64_MAX, "0123456789");
	expect_passed("0123456789", 0, "");
	expect_passed("ab" EURO "cd", 4, "ab");
	expect_passed("ab" EURO "cd", 5, "ab" EURO);
	expect_passed("ab\xe2\x82", 4, "ab\xe2\x82"); /* not ours to judge: it ends so */
	expect_passed(EURO EURO EURO, 8, EURO EURO);
}

/* --- output ------------------------------------------------------------------------------------------------------ */

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
	struct error err = {0};

	*w = (struct watched){.pipe = {-1, -1}};
	w->events = (struct output_events){on_chunk, on_gone, on_finished, w};
	w->buffer = malloc(OUTPUT_BUFFER_SIZE);
	cr_assert_not_null(w->buffer);
	harness_ok(arena_new(&w->arena, &err), &err);
	harness_ok(loop_new(&w->loop, &err), &err);
	cr_assert_eq(pipe2(w->pipe, O_CLOEXEC), 0);
	harness_ok(fd_set_nonblock(w->pipe[0], true, &err), &err);
	harness_ok(output_open(&w->output, w->loop, w->pipe[0], 1, consumer, cap, &w->events, w->buffer, &err), &err);
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

/* --- quiet_write ------------------------------------------------------------------------------------------------- */

Test(output, quiet_write_leaves_others_sigpipe_alone)
{
	int ends[2];
	sigset_t mask, pending;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	fd_close(ends[0]);
	cr_expect_eq(quiet_write(ends[1], "x", 1), -1);
	cr_expect_eq(errno, EPIPE);
	cr_assert_eq(sigpending(&pending), 0);
	cr_expect_eq(sigismember(&pending, SIGPIPE), 0);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	cr_expect_eq(sigismember(&mask, SIGPIPE), 0);

	sigemptyset(&mask);
	sigaddset(&mask, SIGPIPE);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	cr_assert_eq(raise(SIGPIPE), 0);
	cr_expect_eq(quiet_write(ends[1], "x", 1), -1);
	cr_assert_eq(sigpending(&pending), 0);
	cr_expect_eq(sigismember(&pending, SIGPIPE), 1, "it was not ours to take");
	fd_close(ends[1]);
}

/* --- feed -------------------------------------------------------------------------------------------------------- */

Test(output, feeds_as_the_reader_reads_and_closes)
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

Test(output, feed_survives_a_reader_that_leaves)
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

/* --- terminals --------------------------------------------------------------------------------------------------- */

struct terminal {
	int master, slave;
};

static struct terminal open_terminal(void)
{
	struct terminal t = {.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)};
	char name[64];

	cr_assert_geq(t.master, 0);
	cr_assert_eq(grantpt(t.master), 0);
	cr_assert_eq(unlockpt(t.master), 0);
	cr_assert_eq(ptsname_r(t.master, name, sizeof name), 0);
	t.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(t.slave, 0);
	return t;
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

Test(output, a_terminal_ends_its_input_by_a_character)
{
	expect_terminal_input("hello\n", "hello\n");
	expect_terminal_input("half a line", "half a line");
	expect_terminal_input("", "");
}

Test(output, a_terminal_nobody_uses_any_more_is_an_end_of_file)
{
	struct terminal t = open_terminal();
	struct watched w;
	struct error err = {0};
	struct outcome_stream stream;

	watch(&w, -1, 1000);
	output_close(&w.output);
	harness_ok(output_open(&w.output, w.loop, t.master, 1, -1, 1000, &w.events, w.buffer, &err), &err);
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
