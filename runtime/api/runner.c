/*
 * The runner: a request becomes a policy, a command and a run of the public API, like anybody's.
 *
 * Race: directories and files are handed over by descriptor. They go into the plan as /proc/self/fd/N, which resolves
 * to wherever the thing is at that moment, and the launch follows no symbolic link behind that: whoever renames things
 * around it meanwhile makes the run fail, or keeps it in the place it was meant for.
 *
 * Nothing of the caller's environment goes inside, and standard input is empty.
 */
#include "runtime/api/runner.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "base/str.h"
#include "runtime/api/objects.h"
#include "runtime/api/programs.h"

#define WATCH_EVERY (250 * NS_PER_MS)
#define WATCH_SHARE 20 /* the time between two looks is this many times what a look takes */

CLEANUP_DEFINE(pinfold_policy, pinfold_policy_free)
CLEANUP_DEFINE(pinfold_command, pinfold_command_free)
CLEANUP_DEFINE(pinfold_run, pinfold_run_free)
CLEANUP_DEFINE(pinfold_result, pinfold_result_free)

/* Carries the public error of a step into ours and ends it. */
static int pass_error(pinfold_error *from, const char *what, struct error *err)
{
	*err = from->error;
	err->op[0] = '\0'; /* it happened in the course of what the caller does */
	(void)pinfold_error_free(from);
	return error_prefix(err, "%s", what);
}

static int make_policy(const struct runner_request *request, pinfold_policy **ret_policy, struct error *err)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	pinfold_error *error = NULL;

	if (pinfold_policy_load(request->policy, &policy, &error) < 0)
		return pass_error(error, request->what, err);
	for (size_t i = 0; i < request->n_settings; i++)
		if (pinfold_policy_set(
			    policy, request->settings[i].field, request->settings[i].value, request->what, &error) < 0)
			return pass_error(error, request->what, err);
	for (size_t i = 0; i < request->n_binds; i++) {
		char text[256];
		int n = snprintf(
			text, sizeof text, "/proc/self/fd/%d:%s", request->binds[i].fd, request->binds[i].target);

		if (n < 0 || (size_t)n >= sizeof text)
			return error_set(err, ERROR_INTERNAL, "runner", "the target of a bind is too long");
		if (pinfold_policy_set(policy, "filesystem.bind", text, request->what, &error) < 0)
			return pass_error(error, request->what, err);
	}
	*ret_policy = steal_ptr(&policy);
	return 0;
}

static int make_command(const struct runner_request *request, pinfold_command **ret_command, struct error *err)
{
	static const char *const no_environment[] = {NULL};
	cleanup_with(pinfold_command_freep) pinfold_command *command = NULL;
	pinfold_error *error = NULL;
	char directory[64];

	(void)snprintf(directory, sizeof directory, "/proc/self/fd/%d", request->directory_fd);
	if (pinfold_command_new(request->argv, &command, &error) < 0 ||
		pinfold_command_set_environment(command, no_environment, &error) < 0 ||
		pinfold_command_set_workspace(command, directory, &error) < 0 ||
		pinfold_command_set_directory(command, ".", &error) < 0) /* the workspace */
		return pass_error(error, request->what, err);
	*ret_command = steal_ptr(&command);
	return 0;
}

static int set_environment(const struct runner_request *request, pinfold_policy *policy, struct error *err)
{
	pinfold_error *error = NULL;

	for (const char *const *entry = request->environment; entry != NULL && *entry != NULL; entry++)
		if (pinfold_policy_set(policy, "process.env.set", *entry, request->what, &error) < 0)
			return pass_error(error, request->what, err);
	return 0;
}

/* What the run writes goes to whoever asked; the first failure there ends the run and is its result. */
struct listener {
	const struct runner_request *request;
	pinfold_run *run;
	struct error error;
	bool failed;
	char said[512];
	size_t n_said;
};

static void hear(void *userdata, int stream, const void *data, size_t size)
{
	struct listener *listener = userdata;
	size_t room = sizeof listener->said - 1 - listener->n_said;
	size_t kept = size < room ? size : room;

	if (stream == 2) {
		memcpy(listener->said + listener->n_said, data, kept);
		listener->n_said += kept;
	}
	if (listener->failed || listener->request->output == NULL)
		return;
	if (listener->request->output(listener->request->context, stream, data, size, &listener->error) == 0)
		return;
	listener->failed = true;
	pinfold_run_cancel(listener->run);
}

/* When the watch looks next; what it costs stays a small part of the time. */
struct pace {
	uint64_t next_ns;
};

static int look_after(const struct runner_request *request, struct pace *pace, struct error *err)
{
	uint64_t begin = monotime_ns(), took;

	if (request->watch == NULL || begin < pace->next_ns)
		return 0;
	if (request->watch(request->watched, err) < 0)
		return -1;
	took = monotime_ns() - begin;
	pace->next_ns = begin + took + (took * WATCH_SHARE > WATCH_EVERY ? took * WATCH_SHARE : WATCH_EVERY);
	return 0;
}

static int wait_a_little(pinfold_run *run, struct work *work, int timeout_ms, struct error *err)
{
	struct pollfd fds[1 + WORK_FDS_MAX] = {{.fd = pinfold_run_fd(run), .events = POLLIN}};
	size_t n = 1 + (work != NULL ? work_poll_fds(work, fds + 1) : 0);

	if (poll(fds, n, timeout_ms) < 0 && errno != EINTR)
		return error_set_errno(err, ERROR_INTERNAL, errno, "poll", "cannot wait for the run");
	return work != NULL ? work_check(work, err) : 0;
}

static int follow(struct listener *listener, struct error *err)
{
	const struct runner_request *request = listener->request;
	int timeout_ms = request->watch != NULL ? (int)(WATCH_EVERY / NS_PER_MS) : -1;
	struct pace pace = {.next_ns = monotime_ns() + WATCH_EVERY};
	pinfold_error *error = NULL;
	int r = 0;

	while ((r = pinfold_run_dispatch(listener->run, &error)) == 0)
		if (look_after(request, &pace, err) < 0 ||
			wait_a_little(listener->run, request->work, timeout_ms, err) < 0)
			return -1;
	if (r < 0)
		return pass_error(error, request->what, err);
	if (!listener->failed)
		return 0;
	*err = listener->error;
	return -1;
}

static enum runner_end end_of(enum pinfold_status status)
{
	switch (status) {
	case PINFOLD_SIGNALED:
	case PINFOLD_CANCELLED: return RUNNER_SIGNALED;
	case PINFOLD_TIMED_OUT:
	case PINFOLD_CPU_TIME_EXCEEDED: return RUNNER_TIMED_OUT;
	case PINFOLD_OUT_OF_MEMORY: return RUNNER_OUT_OF_MEMORY;
	case PINFOLD_EXITED:
	case PINFOLD_SETUP_FAILED: break;
	}
	return RUNNER_EXITED;
}

static void describe(const pinfold_result *result, struct runner_outcome *outcome)
{
	const char *note = pinfold_result_note(result);

	if (note != NULL)
		(void)str_printable(note, outcome->told, sizeof outcome->told);
	else if (outcome->end == RUNNER_SIGNALED)
		(void)snprintf(outcome->told, sizeof outcome->told, "ended by SIG%s", sigabbrev_np(outcome->signal));
	else
		(void)snprintf(outcome->told, sizeof outcome->told, "exit status %d", outcome->exit_code);
}

static int take_outcome(struct listener *listener, struct runner_outcome *ret_outcome, struct error *err)
{
	cleanup_with(pinfold_result_freep) pinfold_result *result = NULL;
	struct runner_outcome outcome = {0};
	pinfold_error *error = NULL;

	if (pinfold_run_wait(listener->run, &result, &error) < 0)
		return pass_error(error, listener->request->what, err);
	if (pinfold_result_status(result) == PINFOLD_SETUP_FAILED) {
		*err = result->outcome->error;
		return error_prefix(err, "%s", listener->request->what);
	}
	outcome.end = end_of(pinfold_result_status(result));
	outcome.exit_code = pinfold_result_exit_code(result);
	outcome.signal = pinfold_result_signal(result);
	describe(result, &outcome);
	(void)str_printable(listener->said, outcome.said, sizeof outcome.said);
	*ret_outcome = outcome;
	return 0;
}

static int start(pinfold_host *host, const struct runner_request *request, bool as_caller, pinfold_run **ret_run,
	struct error *err)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	cleanup_with(pinfold_command_freep) pinfold_command *command = NULL;
	pinfold_error *error = NULL;

	if (make_policy(request, &policy, err) < 0 || set_environment(request, policy, err) < 0 ||
		make_command(request, &command, err) < 0)
		return -1;
	if (as_caller && pinfold_policy_set(policy, "process.identity", "caller", request->what, &error) < 0)
		return pass_error(error, request->what, err);
	if (pinfold_run_start(host, policy, command, ret_run, &error) < 0)
		return pass_error(error, request->what, err);
	return 0;
}

/* Fallback: where root's directory lies on a file system that cannot be id-mapped (overlayfs, in most containers),
 * the program keeps root's uid, without any capability and in a user namespace of its own. The outcome says so. */
static int start_somehow(pinfold_host *host, const struct runner_request *request, pinfold_run **ret_run,
	bool *ret_as_caller, struct error *err)
{
	struct error again;

	*ret_as_caller = geteuid() != 0;
	if (start(host, request, false, ret_run, err) == 0)
		return 0;
	if (err->code != ERROR_UNENFORCEABLE || geteuid() != 0 || start(host, request, true, ret_run, &again) < 0)
		return -1;
	*ret_as_caller = true;
	return 0;
}

static int run(void *context, const struct runner_request *request, struct runner_outcome *ret_outcome, struct error *err)
{
	cleanup_with(pinfold_run_freep) pinfold_run *run = NULL;
	struct listener listener = {.request = request};
	bool as_caller;

	if (request->work != NULL && work_check(request->work, err) < 0)
		return -1;
	if (start_somehow(context, request, &run, &as_caller, err) < 0)
		return -1;
	listener.run = run;
	pinfold_run_on_output(run, hear, &listener);
	if (follow(&listener, err) < 0 || take_outcome(&listener, ret_outcome, err) < 0)
		return -1;
	ret_outcome->as_caller = as_caller;
	return 0;
}

static int open_program(void *context, const char *name, struct error *err)
{
	(void)context;
	return api_program_open(name, err);
}

struct runner api_runner(pinfold_host *host)
{
	return (struct runner){.run = run, .open_program = open_program, .context = host};
}
