#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "tests/unit/harness.h"
#include "tests/unit/supervised_run.h"

TestSuite(ending, .fini = harness_leak_check, .timeout = 120);

/* --- the command's own ends ------------------------------------------------------------------------------------------ */

Test(ending, reports_exit_and_both_streams)
{
	struct run run;

	run_prepare(&run, "echo out; echo err >&2; exit 7");
	run_go(&run);
	run_expect_exit(run.outcome, 7);
	run_expect_stream(&run.outcome->streams[0], "out\n");
	run_expect_stream(&run.outcome->streams[1], "err\n");
	cr_expect_eq(run.outcome->survivors_killed, 0);
	cr_expect_eq(strlen(run.outcome->run_id), 32);
	cr_expect_null(run.outcome->limit_name);
	run_drop(&run);
}

Test(ending, reports_a_signal)
{
	struct run run;

	run_prepare(&run, "kill -TERM $$");
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGTERM);
	cr_expect_not(run.outcome->has_exit_code);
	run_drop(&run);
}

Test(ending, does_not_wait_for_daemons_that_hold_the_output)
{
	struct run run;

	run_prepare(&run, "sleep 300 & setsid sh -c 'sleep 301 &' ; echo started");
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	run_expect_stream(&run.outcome->streams[0], "started\n");
	cr_expect_geq(run.outcome->survivors_killed, 2);
	cr_expect_lt(run.took_ns, 10 * NS_PER_S);
	run_drop(&run);
}

Test(ending, explains_an_exec_that_failed)
{
	struct run run;
	char message[512];

	run_prepare(&run, "");
	run.argv[0] = (char *)"/no/such/program";
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SETUP_FAILED);
	cr_expect_eq(run.outcome->error.code, ERROR_NOT_FOUND);
	cr_expect_eq(run.outcome->error.sys_errno, ENOENT);
	cr_expect_not_null(strstr(error_message(&run.outcome->error, message, sizeof message), "/no/such/program"));
	run_drop(&run);
	run_prepare(&run, "");
	run.argv[0] = (char *)"/etc/passwd";
	run_go(&run);
	cr_expect_eq(run.outcome->error.code, ERROR_PERMISSION_DENIED);
	run_drop(&run);
}

/* --- ends that are made ---------------------------------------------------------------------------------------------- */

Test(ending, ends_at_the_deadline_and_keeps_the_output)
{
	struct run run;

	run_prepare(&run, "echo A; echo B >&2; sleep 300 & wait");
	run.plan.wall_ns = 2 * NS_PER_S;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect_str_eq(run.outcome->limit_name, "wall_time");
	cr_expect_eq(run.outcome->limit_value, 2000);
	cr_expect_geq(run.outcome->limit_actual, 2000);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	run_expect_stream(&run.outcome->streams[0], "A\n");
	run_expect_stream(&run.outcome->streams[1], "B\n");
	run_drop(&run);
}

Test(ending, asks_first_where_a_grace_is_given)
{
	struct run run;

	run_prepare(&run, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
	run.plan.wall_ns = 500 * NS_PER_MS;
	run.plan.kill_after_ns = 20 * NS_PER_S;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect(run.outcome->has_exit_code);
	cr_expect_eq(run.outcome->exit_code, 5);
	cr_expect_not(run.outcome->kill_was_needed);
	cr_expect_not_null(memmem(run.outcome->streams[0].data, run.outcome->streams[0].kept, "bye", 3));
	run_drop(&run);
}

Test(ending, kills_where_asking_did_not_help)
{
	struct run run;

	run_prepare(&run, "trap '' TERM INT HUP; while :; do sleep 0.1; done");
	run.plan.wall_ns = 300 * NS_PER_MS;
	run.plan.kill_after_ns = 300 * NS_PER_MS;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect(run.outcome->kill_was_needed);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	cr_expect_geq(run.outcome->wall_ns, 600 * NS_PER_MS);
	run_drop(&run);
}

/* Exactly one of two ends, whichever was first, and never a hang. */
Test(ending, an_exit_at_the_deadline_is_one_of_two)
{
	for (int i = 0; i < 30; i++) {
		struct run run;
		bool exited;

		run_prepare(&run, "sleep 0.03; exit 3");
		run.plan.wall_ns = (25 + (uint64_t)i) * NS_PER_MS;
		run_go(&run);
		exited = run.outcome->status == OUTCOME_EXITED && run.outcome->exit_code == 3;
		cr_expect(exited || run.outcome->status == OUTCOME_TIMED_OUT);
		cr_expect_eq(exited, run.outcome->limit_name == NULL);
		run_drop(&run);
	}
}

static void *cancel_later(void *supervisor)
{
	(void)usleep(100000);
	supervisor_cancel(supervisor);
	supervisor_cancel(supervisor);
	return NULL;
}

Test(ending, is_cancelled_from_another_thread)
{
	struct run run;
	pthread_t thread;

	run_prepare(&run, "sleep 300");
	run_start(&run);
	cr_assert_eq(pthread_create(&thread, NULL, cancel_later, run.supervisor), 0);
	run_wait(&run);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(run.outcome->status, OUTCOME_CANCELLED);
	cr_expect_lt(run.took_ns, 20 * NS_PER_S);
	run_drop(&run);
}

Test(ending, is_cancelled_before_the_first_dispatch)
{
	struct run run;

	run_prepare(&run, "sleep 300");
	run_start(&run);
	supervisor_cancel(run.supervisor);
	run_wait(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_CANCELLED);
	supervisor_cancel(run.supervisor);
	run_drop(&run);
}

Test(ending, ends_when_nobody_reads_any_more)
{
	struct run run;
	int consumer[2];

	cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	cr_assert_eq(pipe2(consumer, O_CLOEXEC), 0);
	run_prepare(&run, "yes");
	run.plan.output = PLAN_OUTPUT_RELAY;
	run.plan.out_fd = consumer[1];
	run.plan.err_fd = STDERR_FILENO;
	run.plan.output_bytes = UINT64_MAX;
	run_start(&run);
	fd_close(consumer[0]);
	run_wait(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGPIPE);
	run_drop(&run);
	fd_close(consumer[1]);
}

Test(ending, watches_memory)
{
	struct run run;

	run_prepare(&run, "exec head -c 100000000 /dev/zero | tail -c 90000000 | sleep 300");
	run.plan.watch_memory_bytes = 16u << 20;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_OUT_OF_MEMORY, "%s", outcome_status_name(run.outcome->status));
	cr_expect_str_eq(run.outcome->limit_name, "memory");
	cr_expect_gt(run.outcome->limit_actual, run.outcome->limit_value);
	cr_expect_neq(run.outcome->memory_peak_bytes, USAGE_UNKNOWN);
	run_drop(&run);
}

Test(ending, watches_processes)
{
	struct run run;

	run_prepare(&run, "for i in 1 2 3 4 5 6 7 8 9; do sleep 300 & done; wait");
	run.plan.watch_processes = 5;
	run.plan.processes_max = 5;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_str_eq(run.outcome->limit_name, "processes");
	cr_expect_eq(run.outcome->n_limits_touched, 1);
	run_drop(&run);
}

Test(ending, watches_cpu_time_of_the_whole_tree)
{
	struct run run;

	run_prepare(&run, "for i in 1 2 3 4; do while :; do :; done & done; wait");
	run.plan.watch_cpu_ns = 300 * NS_PER_MS;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_CPU_TIME_EXCEEDED);
	cr_expect_str_eq(run.outcome->limit_name, "cpu_time");
	cr_expect_geq(run.outcome->limit_actual, 300);
	run_drop(&run);
}

/* --- what is said of limits ------------------------------------------------------------------------------------------ */

static bool is_listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_touched(const struct run *run, const char *name)
{
	return is_listed(run->outcome->limits_touched, run->outcome->n_limits_touched, name);
}

static bool is_sampled(const struct run *run, const char *name)
{
	return is_listed(run->outcome->usage_sampled, run->outcome->n_usage_sampled, name);
}

Test(ending, does_not_take_a_sent_signal_for_cpu_time)
{
	struct plan_rlimit limits[] = {{RLIMIT_CPU, {3, 4}, "cpu"}};
	struct run run;

	run_prepare(&run, "kill -XCPU $$");
	run.plan.rlimits = limits;
	run.plan.n_rlimits = 1;
	run.plan.watch_cpu_ns = NS_PER_S;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGXCPU);
	cr_expect_null(run.outcome->limit_name);
	run_drop(&run);
	run_prepare(&run, "sh -c 'kill -XCPU $$'; exit $?");
	run.plan.rlimits = limits;
	run.plan.n_rlimits = 1;
	run_go(&run);
	run_expect_exit(run.outcome, 128 + SIGXCPU);
	cr_expect_not(is_touched(&run, "cpu_time"));
	run_drop(&run);
}

Test(ending, believes_a_signal_of_cpu_time_that_is_used)
{
	struct plan_rlimit limits[] = {{RLIMIT_CPU, {1, 2}, "cpu"}};
	struct run run;

	run_prepare(&run, "ulimit -St 1; while :; do :; done");
	run.plan.rlimits = limits;
	run.plan.n_rlimits = 1;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_CPU_TIME_EXCEEDED);
	cr_expect_str_eq(run.outcome->limit_name, "cpu_time");
	cr_expect_eq(run.outcome->limit_value, 1000);
	run_drop(&run);
}

Test(ending, one_process_alone_meets_no_limit_of_processes)
{
	struct run run;

	run_prepare(&run, "exec sleep 0.2");
	run.plan.watch_processes = run.plan.processes_max = 1;
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	cr_expect_not(is_touched(&run, "processes"));
	cr_expect_not(is_sampled(&run, "limits_touched"));
	run_drop(&run);
}

Test(ending, says_that_a_limit_was_met_in_a_sample)
{
	struct run run;

	run_prepare(&run, "sleep 0.5 & sleep 0.5 & wait");
	run.plan.watch_processes = run.plan.processes_max = 3;
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	cr_expect(is_touched(&run, "processes"));
	cr_expect(is_sampled(&run, "limits_touched"));
	run_drop(&run);
}

/* Where the output cannot be written the caller is told so, and not that somebody closed a pipe. */
static void expect_io_error(const char *script)
{
	struct run run;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_geq(full, 0);
	run_prepare(&run, script);
	run.plan.output = PLAN_OUTPUT_RELAY;
	run.plan.out_fd = full;
	run.plan.err_fd = STDERR_FILENO;
	run_go(&run);
	cr_expect_eq(run.outcome->error.code, ERROR_IO, "%s", script);
	cr_expect_eq(run.outcome->error.sys_errno, ENOSPC);
	cr_expect_neq(run.outcome->signal, SIGPIPE);
	run_drop(&run);
	fd_close(full);
}

Test(ending, tells_why_output_could_not_be_written)
{
	expect_io_error("echo x");
	expect_io_error("echo x; sleep 300");
}
