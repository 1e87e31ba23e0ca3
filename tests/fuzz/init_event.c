/*
 * What init tells the supervisor: without a boundary the command can get hold of init, so that anything may come, in
 * any order and size.
 *
 * The input is a list of steps: a byte that says which, and what it needs. At the end init is dead, as the kernel would
 * say. The launch is the one below, without any process; what comes of it must be a document that can be read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/result/result.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/harness.h"
#include "tests/unit/supervised_run.h"

#define STEPS_MAX 64
#define TURNS_MAX 1000
#define RAW_MAX   512

/* The other side, for one input: libFuzzer calls with nothing but bytes. */
static struct {
	struct launched *launched;
	int init_fd; /* init's end of the control socket */
	int status;  /* with which it ends */
} peer = {.init_fd = -1};

int launch_start(const struct plan *plan, struct launched **ret_launched, struct error *err)
{
	struct launched *launched = calloc(1, sizeof *launched);
	int ends[2];

	cr_assert_not_null(launched);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return error_set_errno(err, ERROR_IO, errno, "socketpair", "for the fuzzer");
	peer.init_fd = ends[1];
	*launched = (struct launched)LAUNCHED_INIT;
	launched->pid = 4711;
	launched->pidfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	launched->subreaper = !plan_is_confined(plan);
	launched->control_fd = ends[0];
	launched->started_ns = monotime_ns();
	*ret_launched = peer.launched = launched;
	return 0;
}

void launched_kill(struct launched *launched)
{
	const uint64_t one = 1;

	if (launched->pidfd >= 0)
		cr_assert_eq(write(launched->pidfd, &one, sizeof one), (ssize_t)sizeof one);
}

void launched_request(struct launched *launched, const struct init_request *request)
{
	(void)send(launched->control_fd, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int launched_reap(struct launched *launched, int *ret_status, struct error *err)
{
	(void)err;
	cleanup_close_fd(&launched->pidfd);
	*ret_status = peer.status;
	return 0;
}

int launch_repair_mount(struct launched *launched, const struct mount_op *op, struct error *err)
{
	(void)launched;
	return error_set(err, ERROR_UNENFORCEABLE, "repair", "%s cannot be repaired here", op->target);
}

struct launched *launched_free(struct launched *launched)
{
	if (launched == NULL)
		return NULL;
	cleanup_close_fd(&launched->pidfd);
	cleanup_close_fd(&launched->control_fd);
	cleanup_close_fd(&peer.init_fd);
	free(launched);
	return NULL;
}

/* --- the steps of an input */

static void say_event(struct run *run, struct fuzz_input *input)
{
	struct init_event event = {.kind = fuzz_byte(input) % 6u};

	(void)run;
	fuzz_bytes(input, (char *)&event + sizeof event.kind, fuzz_byte(input));
	(void)send(peer.init_fd, &event, sizeof event, MSG_NOSIGNAL);
}

static void say_whole_event(struct run *run, struct fuzz_input *input)
{
	struct init_event event;

	(void)run;
	fuzz_bytes(input, &event, sizeof event);
	(void)send(peer.init_fd, &event, sizeof event, MSG_NOSIGNAL);
}

static void say_anything(struct run *run, struct fuzz_input *input)
{
	char raw[RAW_MAX];
	size_t size = fuzz_byte(input) * 2u;

	(void)run;
	fuzz_bytes(input, raw, size);
	(void)send(peer.init_fd, raw, size, MSG_NOSIGNAL);
}

static void hang_up(struct run *run, struct fuzz_input *input)
{
	(void)run, (void)input;
	(void)shutdown(peer.init_fd, SHUT_RDWR);
}

static void dispatch(struct run *run, struct fuzz_input *input)
{
	struct error err = {0};

	(void)input;
	cr_assert_geq(supervisor_dispatch(run->supervisor, 0, &err), 0, "%s", err.text);
}

static void cancel(struct run *run, struct fuzz_input *input)
{
	(void)input;
	supervisor_cancel(run->supervisor);
}

static void choose_status(struct run *run, struct fuzz_input *input)
{
	(void)run;
	peer.status = fuzz_byte(input) | fuzz_byte(input) << 8;
}

static void (*const steps[])(struct run *, struct fuzz_input *) = {
	say_event, say_whole_event, say_anything, hang_up, dispatch, cancel, choose_status};

static void take_steps(struct run *run, struct fuzz_input *input)
{
	for (int i = 0; i < STEPS_MAX && input->left > 0; i++)
		steps[fuzz_byte(input) % (sizeof steps / sizeof *steps)](run, input);
}

/* init is dead, and that is told again and again, as a pidfd does. */
static void finish(struct run *run)
{
	struct error err = {0};
	int r = 0;

	for (int i = 0; r == 0 && i < TURNS_MAX; i++) {
		launched_kill(peer.launched);
		r = supervisor_dispatch(run->supervisor, 0, &err);
	}
	cr_assert_eq(r, 1, "the run does not end: %s", err.text);
}

static void check_event(void *userdata, const char *json)
{
	(void)userdata;
	fuzz_expect_json_take(strdup(json));
}

static void check_outcome(const struct run *run)
{
	const struct outcome *outcome = supervisor_outcome(run->supervisor);
	cleanup_free char *note = NULL;
	struct error err = {0};
	char *json = NULL;
	int status;

	cr_assert_not_null(outcome);
	cr_assert_eq(result_json(&run->plan, outcome, &json, &err), 0, "%s", err.text);
	fuzz_expect_json_take(json);
	note = result_note(outcome);
	status = result_exit_status(outcome);
	cr_assert(status >= 0 && status <= UINT8_MAX, "exit status %d", status);
	if (outcome->status == OUTCOME_EXITED)
		cr_assert(outcome->has_exit_code && outcome->signal == 0);
	if (outcome->status == OUTCOME_SIGNALED)
		cr_assert(!outcome->has_exit_code && outcome->signal > 0, "a signal that is none");
	if (outcome->status == OUTCOME_SETUP_FAILED)
		cr_assert_neq(outcome->error.code, ERROR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct supervisor_hooks hooks = {.event = check_event};
	struct fuzz_input input = {data, size};
	uint8_t kind = fuzz_byte(&input);
	int before = harness_count_fds();
	struct run run;

	peer.status = 0;
	run_prepare(&run, "true");
	run.plan.enforcement.policy_text = (struct policy_text){"[]", 1};
	if (kind % 2 != 0)
		run.plan.namespaces = 0;
	if (kind % 4 >= 2)
		run.plan.kill_after_ns = NS_PER_S;
	run_start(&run);
	supervisor_set_hooks(run.supervisor, &hooks);
	take_steps(&run, &input);
	finish(&run);
	check_outcome(&run);
	run_drop(&run);
	cr_assert_eq(harness_count_fds(), before, "descriptors were lost");
	return 0;
}
