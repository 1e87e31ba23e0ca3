/* Programs of the machine are run to their end, whatever they do, and leave the caller as it was. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotime.h"
#include "base/program.h"
#include "tests/unit/harness.h"

TestSuite(program, .fini = harness_leak_check);

static const char *const environment[] = {"GREETING=hello", NULL};

static int run_shell(const char *script, uint64_t timeout_ns, struct buf *output, struct error *err)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct program program = {"/bin/sh", argv, environment, timeout_ns};

	return program_run(&program, output, err);
}

static void expect(const char *script, int status, const char *text)
{
	cleanup_buf struct buf output = {0};
	struct error err = {0};
	int n_fds = harness_count_fds();
	int r = run_shell(script, 20 * NS_PER_S, &output, &err);

	cr_expect_eq(r, status, "%s: %d, %s", script, r, err.text);
	cr_expect_str_eq(buf_str(&output), text, "%s", script);
	cr_expect_eq(harness_count_fds(), n_fds);
}

Test(program, output_and_status)
{
	expect("echo one; echo two >&2; exit 3", 3, "one\ntwo\n");
	expect("exit 0", 0, "");
	expect("kill -9 $$", 128 + 9, "");
}

Test(program, it_has_what_it_is_given_and_nothing_else)
{
	int open_one = open("/dev/null", O_RDONLY); /* not close-on-exec, as a careless host program leaves them */

	expect("echo $GREETING${HOME:+x}", 0, "hello\n");
	expect("read line || echo end", 0, "end\n");
	expect("ls /proc/self/fd | tr '\\n' ' '", 0, "0 1 2 3 ");
	cr_expect_eq(close(open_one), 0);
}

Test(program, signals_are_as_in_a_new_session)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	expect("kill -TERM $$; echo lived", 128 + SIGTERM, "");
	expect("[ $(cut -d' ' -f6 /proc/self/stat) = $(cut -d' ' -f6 /proc/1/stat) ] || echo own", 0, "own\n");
}

Test(program, a_flood_is_cut_and_read_to_its_end)
{
	cleanup_buf struct buf output = {0};
	struct error err = {0};

	cr_expect_eq(run_shell("head -c 3000000 /dev/zero | tr '\\0' x; exit 4", 20 * NS_PER_S, &output, &err), 4);
	cr_expect_geq(output.size, PROGRAM_OUTPUT_MAX);
	cr_expect_leq(output.size, PROGRAM_OUTPUT_MAX + 4096u);
}

Test(program, it_does_not_wait_for_what_is_left_behind)
{
	uint64_t begin_ns = monotime_ns();

	expect("(sleep 5; echo late) & echo now", 0, "now\n");
	cr_expect_lt(monotime_ns() - begin_ns, 4 * NS_PER_S);
}

Test(program, time_is_bounded)
{
	cleanup_buf struct buf output = {0};
	struct error err = {0};

	cr_expect_eq(run_shell("exec sleep 60", 100 * NS_PER_MS, &output, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1, "nothing is left to wait for");
	cr_expect_eq(errno, ECHILD);
}

Test(program, what_cannot_be_executed_is_an_error)
{
	static const char *const paths[] = {"/nowhere/program", "/etc/passwd", "/"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		cleanup_buf struct buf output = {0};
		const char *const argv[] = {"x", NULL};
		const struct program program = {paths[i], argv, environment, 10 * NS_PER_S};
		struct error err = {0};

		cr_expect_eq(program_run(&program, &output, &err), -1, "%s", paths[i]);
		cr_expect_eq(err.code, ERROR_NOT_FOUND, "%s: %s", paths[i], err.text);
		cr_expect_neq(err.sys_errno, 0);
	}
}

/* Threat: descriptors 0 to 3 closed in the caller put every pipe in the way of those that the child places. */
Test(program, a_caller_without_streams)
{
	cleanup_buf struct buf output = {0};
	struct error err = {0};
	int saved[3];
	int r;

	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		(void)close(i);
	}
	r = run_shell("echo out; ls /proc/self/fd | tr '\\n' ' '", 20 * NS_PER_S, &output, &err);
	for (int i = 0; i < 3; i++) {
		(void)dup2(saved[i], i);
		(void)close(saved[i]);
	}
	cr_expect_eq(r, 0, "%s", err.text);
	cr_expect_str_eq(buf_str(&output), "out\n0 1 2 3 ");
}
