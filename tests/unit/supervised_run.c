/* The plan has only what the supervisor reads; the boundary is that of the fake launch. */
#include "tests/unit/supervised_run.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>

#include "base/monotime.h"
#include "tests/unit/harness.h"

static struct plan plan_of(char **argv)
{
	return (struct plan){.argv = argv,
		.wall_ns = 30 * NS_PER_S,
		.watch_memory_bytes = LIMIT_NONE,
		.watch_processes = LIMIT_NONE,
		.watch_cpu_ns = LIMIT_NONE,
		.memory_bytes = LIMIT_NONE,
		.processes_max = LIMIT_NONE,
		.output_bytes = 1u << 20,
		.stdin_fd = -1,
		.out_fd = -1,
		.err_fd = -1,
		.namespaces = CLONE_NEWPID,
		.directory = "/"};
}

static struct plan plan_of_shell(char *argv[4], const char *script)
{
	argv[0] = (char *)"/bin/sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)script;
	argv[3] = NULL;
	return plan_of(argv);
}

void run_prepare(struct run *run, const char *script)
{
	memset(run, 0, sizeof *run);
	run->plan = plan_of_shell(run->argv, script);
	if (script[0] == '@')
		run->argv[0] = (char *)script;
}

void run_start(struct run *run)
{
	struct error err = {0};

	harness_ok(supervisor_start(&run->plan, &run->supervisor, &err), &err);
}

void run_wait(struct run *run)
{
	uint64_t begin = monotime_ns();
	struct error err = {0};

	while (harness_ok(supervisor_dispatch(run->supervisor, -1, &err), &err) == 0)
		;
	run->took_ns = monotime_ns() - begin;
	run->outcome = supervisor_outcome(run->supervisor);
	cr_assert_not_null(run->outcome);
}

void run_go(struct run *run)
{
	run_start(run);
	run_wait(run);
}

void run_drop(struct run *run)
{
	run->supervisor = supervisor_free(run->supervisor);
}

void run_expect_stream(const struct outcome_stream *stream, const char *text)
{
	cr_expect(stream->captured);
	cr_expect_eq(stream->kept, strlen(text), "%.*s", (int)stream->kept, stream->data);
	cr_expect_eq(memcmp(stream->data == NULL ? "" : stream->data, text, strlen(text)), 0);
}

void run_expect_exit(const struct outcome *outcome, int code)
{
	cr_expect_eq(outcome->status, OUTCOME_EXITED, "%s", outcome_status_name(outcome->status));
	cr_expect(outcome->has_exit_code);
	cr_expect_eq(outcome->exit_code, code);
	cr_expect_eq(outcome->signal, 0);
}
