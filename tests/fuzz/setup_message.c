/*
 * What the child answers to launch_start(): a peer that is broken, or no longer ours, may send anything.
 *
 * The input: how many descriptors, whether the whole record is sent (the rest is zeroes) or the bytes as they are, then
 * the bytes.
 */
#include "runtime/launch/setup_message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/launch/setup.h"
#include "runtime/result/result.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/harness.h"

#define FDS_MAX 40

static void expect_terminated(const char *text, size_t size)
{
	cr_assert_not_null(memchr(text, '\0', size));
}

static void check_error(const struct error *err)
{
	expect_terminated(err->op, sizeof err->op);
	expect_terminated(err->where, sizeof err->where);
	expect_terminated(err->text, sizeof err->text);
	expect_terminated(err->fix, sizeof err->fix);
	cr_assert_neq(err->code, ERROR_NONE, "a failure without an error");
	fuzz_expect_json_take(result_error_json(err, NULL, 0));
}

static void send_answer(int sock, struct fuzz_input *input)
{
	size_t n = fuzz_byte(input) % (FDS_MAX + 1);
	bool whole = fuzz_byte(input) % 4 != 0;
	struct setup_message message;
	size_t size = whole || input->left > sizeof message ? sizeof message : input->left;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fds[FDS_MAX];

	cr_assert_geq(null, 0);
	for (size_t i = 0; i < n; i++)
		fds[i] = null;
	fuzz_bytes(input, &message, sizeof message);
	if (size > 0)
		cr_assert_eq(fd_send(sock, &message, size, fds, n), 0);
	(void)close(null);
}

static void close_answered(struct launched *launched)
{
	int *const fds[] = {&launched->proc_fd, &launched->sysvipc_fd, &launched->sysvipc_sem_fd,
		&launched->sysvipc_msg_fd, &launched->mountinfo_fd, &launched->mountinfo_check_fd, &launched->tty_fd};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		cleanup_close_fd(fds[i]);
	cr_assert_leq(launched->n_tmpfs, LAUNCHED_TMPFS_MAX);
	for (size_t i = 0; i < launched->n_tmpfs; i++)
		cleanup_close_fd(&launched->tmpfs_fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	int before = harness_count_fds(), ends[2];
	struct launched launched = LAUNCHED_INIT;
	struct steps steps = {0};
	struct error err = {0};

	launched.subreaper = fuzz_byte(&input) % 2 != 0;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	launched.control_fd = ends[0];
	send_answer(ends[1], &input);
	(void)close(ends[1]);
	launched.pidfd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* readable, as a dead child's is */
	if (setup_wait_ready(&launched, &steps, &err) < 0)
		check_error(&err);
	else
		cr_assert_geq(launched.proc_fd, 0);
	for (size_t i = 0; i < steps.n; i++)
		cr_assert_not_null(step_name((enum step)steps.marks[i].step));
	close_answered(&launched);
	(void)close(launched.pidfd);
	(void)close(ends[0]);
	cr_assert_eq(harness_count_fds(), before, "descriptors were lost");
	return 0;
}
