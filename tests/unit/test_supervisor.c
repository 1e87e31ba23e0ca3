#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "runtime/supervise/supervisor.h"
#include "tests/unit/fake_launch.h"
#include "tests/unit/harness.h"

TestSuite(supervisor, .fini = harness_leak_check, .timeout = 120);

/* A plan that only has what the supervisor reads. */
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

struct run {
	char *argv[4];
	struct plan plan;
	struct supervisor *supervisor;
	const struct outcome *outcome;
	uint64_t took_ns;
};

static void prepare(struct run *run, const char *script)
{
	memset(run, 0, sizeof *run);
	run->plan = plan_of_shell(run->argv, script);
}

static void start(struct run *run)
{
	struct error err = {0};

	harness_ok(supervisor_start(&run->plan, &run->supervisor, &err), &err);
}

static void wait_for(struct run *run)
{
	uint64_t begin = monotime_ns();
	struct error err = {0};

	while (harness_ok(supervisor_dispatch(run->supervisor, -1, &err), &err) == 0)
		;
	run->took_ns = monotime_ns() - begin;
	run->outcome = supervisor_outcome(run->supervisor);
	cr_assert_not_null(run->outcome);
}

static void go(struct run *run)
{
	start(run);
	wait_for(run);
}

static void drop(struct run *run)
{
	run->supervisor = supervisor_free(run->supervisor);
}

static void expect_stream(const struct outcome_stream *stream, const char *text)
{
	cr_expect(stream->captured);
	cr_expect_eq(stream->kept, strlen(text), "%.*s", (int)stream->kept, stream->data);
	cr_expect_eq(memcmp(stream->data == NULL ? "" : stream->data, text, strlen(text)), 0);
}

static void expect_exit(const struct outcome *outcome, int code)
{
	cr_expect_eq(outcome->status, OUTCOME_EXITED, "%s", outcome_status_name(outcome->status));
	cr_expect(outcome->has_exit_code);
	cr_expect_eq(outcome->exit_code, code);
	cr_expect_eq(outcome->signal, 0);
}

/* --- the command's own ends -------------------------------------------------------------------------------------- */

Test(supervisor, reports_exit_and_both_streams)
{
	struct run run;

	prepare(&run, "echo out; echo err >&2; exit 7");
	go(&run);
	expect_exit(run.outcome, 7);
	expect_stream(&run.outcome->streams[0], "out\n");
	expect_stream(&run.outcome->streams[1], "err\n");
	cr_expect_eq(run.outcome->survivors_killed, 0);
	cr_expect_eq(strlen(run.outcome->run_id), 32);
	cr_expect_null(run.outcome->limit_name);
	drop(&run);
}

Test(supervisor, reports_a_signal)
{
	struct run run;

	prepare(&run, "kill -TERM $$");
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGTERM);
	cr_expect_not(run.outcome->has_exit_code);
	drop(&run);
}

Test(supervisor, does_not_wait_for_daemons_that_hold_the_output)
{
	struct run run;

	prepare(&run, "sleep 300 & setsid sh -c 'sleep 301 &' ; echo started");
	go(&run);
	expect_exit(run.outcome, 0);
	expect_stream(&run.outcome->streams[0], "started\n");
	cr_expect_geq(run.outcome->survivors_killed, 2);
	cr_expect_lt(run.took_ns, 10 * NS_PER_S);
	drop(&run);
}

Test(supervisor, explains_an_exec_that_failed)
{
	struct run run;
	char message[512];

	prepare(&run, "");
	run.argv[0] = (char *)"/no/such/program";
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SETUP_FAILED);
	cr_expect_eq(run.outcome->error.code, ERROR_NOT_FOUND);
	cr_expect_eq(run.outcome->error.sys_errno, ENOENT);
	cr_expect_not_null(strstr(error_message(&run.outcome->error, message, sizeof message), "/no/such/program"));
	drop(&run);
	prepare(&run, "");
	run.argv[0] = (char *)"/etc/passwd";
	go(&run);
	cr_expect_eq(run.outcome->error.code, ERROR_PERMISSION_DENIED);
	drop(&run);
}

/* --- ends that are made ------------------------------------------------------------------------------------------ */

Test(supervisor, ends_at_the_deadline_and_keeps_the_output)
{
	struct run run;

	prepare(&run, "echo A; echo B >&2; sleep 300 & wait");
	run.plan.wall_ns = 300 * NS_PER_MS;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect_str_eq(run.outcome->limit_name, "wall_time");
	cr_expect_eq(run.outcome->limit_value, 300);
	cr_expect_geq(run.outcome->limit_actual, 300);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	expect_stream(&run.outcome->streams[0], "A\n");
	expect_stream(&run.outcome->streams[1], "B\n");
	drop(&run);
}

Test(supervisor, asks_first_where_a_grace_is_given)
{
	struct run run;

	prepare(&run, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
	run.plan.wall_ns = 500 * NS_PER_MS;
	run.plan.kill_after_ns = 20 * NS_PER_S;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect(run.outcome->has_exit_code);
	cr_expect_eq(run.outcome->exit_code, 5);
	cr_expect_not(run.outcome->kill_was_needed);
	cr_expect_not_null(memmem(run.outcome->streams[0].data, run.outcome->streams[0].kept, "bye", 3));
	drop(&run);
}

Test(supervisor, kills_where_asking_did_not_help)
{
	struct run run;

	prepare(&run, "trap '' TERM INT HUP; while :; do sleep 0.1; done");
	run.plan.wall_ns = 300 * NS_PER_MS;
	run.plan.kill_after_ns = 300 * NS_PER_MS;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect(run.outcome->kill_was_needed);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	cr_expect_geq(run.outcome->wall_ns, 600 * NS_PER_MS);
	drop(&run);
}

/* Exactly one of two ends, whichever was first, and never a hang. */
Test(supervisor, an_exit_at_the_deadline_is_one_of_two)
{
	for (int i = 0; i < 30; i++) {
		struct run run;
		bool exited;

		prepare(&run, "sleep 0.03; exit 3");
		run.plan.wall_ns = (25 + (uint64_t)i) * NS_PER_MS;
		go(&run);
		exited = run.outcome->status == OUTCOME_EXITED && run.outcome->exit_code == 3;
		cr_expect(exited || run.outcome->status == OUTCOME_TIMED_OUT);
		cr_expect_eq(exited, run.outcome->limit_name == NULL);
		drop(&run);
	}
}

static void *cancel_later(void *supervisor)
{
	(void)usleep(100000);
	supervisor_cancel(supervisor);
	supervisor_cancel(supervisor);
	return NULL;
}

Test(supervisor, is_cancelled_from_another_thread)
{
	struct run run;
	pthread_t thread;

	prepare(&run, "sleep 300");
	start(&run);
	cr_assert_eq(pthread_create(&thread, NULL, cancel_later, run.supervisor), 0);
	wait_for(&run);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(run.outcome->status, OUTCOME_CANCELLED);
	cr_expect_lt(run.took_ns, 20 * NS_PER_S);
	drop(&run);
}

Test(supervisor, is_cancelled_before_the_first_dispatch)
{
	struct run run;

	prepare(&run, "sleep 300");
	start(&run);
	supervisor_cancel(run.supervisor);
	wait_for(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_CANCELLED);
	supervisor_cancel(run.supervisor);
	drop(&run);
}

Test(supervisor, ends_when_nobody_reads_any_more)
{
	struct run run;
	int consumer[2];

	cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	cr_assert_eq(pipe2(consumer, O_CLOEXEC), 0);
	prepare(&run, "yes");
	run.plan.output = PLAN_OUTPUT_RELAY;
	run.plan.out_fd = consumer[1];
	run.plan.err_fd = STDERR_FILENO;
	run.plan.output_bytes = UINT64_MAX;
	start(&run);
	fd_close(consumer[0]);
	wait_for(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGPIPE);
	drop(&run);
	fd_close(consumer[1]);
}

Test(supervisor, watches_memory)
{
	struct run run;

	prepare(&run, "exec head -c 100000000 /dev/zero | tail -c 90000000 | sleep 300");
	run.plan.watch_memory_bytes = 16u << 20;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_OUT_OF_MEMORY, "%s", outcome_status_name(run.outcome->status));
	cr_expect_str_eq(run.outcome->limit_name, "memory");
	cr_expect_gt(run.outcome->limit_actual, run.outcome->limit_value);
	cr_expect_neq(run.outcome->memory_peak_bytes, USAGE_UNKNOWN);
	drop(&run);
}

Test(supervisor, watches_processes)
{
	struct run run;

	prepare(&run, "for i in 1 2 3 4 5 6 7 8 9; do sleep 300 & done; wait");
	run.plan.watch_processes = 5;
	run.plan.processes_max = 5;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_str_eq(run.outcome->limit_name, "processes");
	cr_expect_eq(run.outcome->n_limits_touched, 1);
	drop(&run);
}

Test(supervisor, watches_cpu_time_of_the_whole_tree)
{
	struct run run;

	prepare(&run, "for i in 1 2 3 4; do while :; do :; done & done; wait");
	run.plan.watch_cpu_ns = 300 * NS_PER_MS;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_CPU_TIME_EXCEEDED);
	cr_expect_str_eq(run.outcome->limit_name, "cpu_time");
	cr_expect_geq(run.outcome->limit_actual, 300);
	drop(&run);
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

Test(supervisor, feeds_much_while_much_comes_out)
{
	struct run run;
	static char input[5 << 20];

	prepare(&run, "head -c 3000000 /dev/zero; wc -c >&2");
	run.plan.stdin_mode = PLAN_STDIN_DATA;
	run.plan.stdin_data = input;
	run.plan.stdin_size = sizeof input;
	go(&run);
	expect_exit(run.outcome, 0);
	cr_expect_eq(run.outcome->streams[0].bytes, 3000000);
	cr_expect_eq(run.outcome->streams[0].kept, 1u << 20);
	cr_expect_eq(run.outcome->streams[0].omitted_bytes, 3000000 - (1u << 20));
	expect_stream(&run.outcome->streams[1], "5242880\n");
	drop(&run);
}

Test(supervisor, survives_a_command_that_does_not_read)
{
	struct run run;
	static char input[5 << 20];

	prepare(&run, "exit 0");
	run.plan.stdin_mode = PLAN_STDIN_DATA;
	run.plan.stdin_data = input;
	run.plan.stdin_size = sizeof input;
	go(&run);
	expect_exit(run.outcome, 0);
	drop(&run);
}

Test(supervisor, drains_a_flood_beyond_the_cap)
{
	struct run run;

	prepare(&run, "yes & yes >&2");
	run.plan.output_bytes = 65536;
	run.plan.wall_ns = 500 * NS_PER_MS;
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(run.outcome->streams[i].kept, 65536);
		cr_expect_gt(run.outcome->streams[i].bytes, 1000000);
	}
	drop(&run);
}

/* --- an init that misbehaves ------------------------------------------------------------------------------------- */

static void prepare_fault(struct run *run, const char *fault)
{
	prepare(run, "");
	run->argv[0] = (char *)fault;
}

Test(supervisor, an_init_without_a_word_is_a_failure)
{
	struct run run;

	prepare_fault(&run, "@silent");
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SETUP_FAILED);
	cr_expect_eq(run.outcome->error.code, ERROR_INTERNAL);
	drop(&run);
}

static void *kill_later(void *pid)
{
	(void)usleep(100000);
	(void)kill(*(pid_t *)pid, SIGKILL);
	return NULL;
}

/* From outside, by somebody else: the fake init is our child, the only one. */
Test(supervisor, an_init_that_is_killed_ends_the_run)
{
	struct run run;
	pthread_t thread;
	char path[64], text[32] = "";
	pid_t pid;
	int fd;

	prepare_fault(&run, "@killed");
	start(&run);
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, text, sizeof text - 1), 0);
	fd_close(fd);
	pid = (pid_t)atoi(text);
	cr_assert_gt(pid, 1);
	cr_assert_eq(pthread_create(&thread, NULL, kill_later, &pid), 0);
	wait_for(&run);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	drop(&run);
}

Test(supervisor, an_init_that_kept_the_deadline_is_believed)
{
	struct run run;

	prepare_fault(&run, "@deadline");
	go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect_str_eq(run.outcome->limit_name, "wall_time");
	drop(&run);
}

Test(supervisor, an_init_that_does_not_end_is_killed)
{
	struct run run;

	prepare_fault(&run, "@stuck");
	go(&run);
	expect_exit(run.outcome, 0);
	cr_expect_lt(run.took_ns, 10 * NS_PER_S);
	drop(&run);
}

Test(supervisor, messages_of_a_wrong_form_are_passed_over)
{
	struct run run;

	prepare_fault(&run, "@garbage");
	go(&run);
	expect_exit(run.outcome, 0);
	drop(&run);
}

/* --- hooks ------------------------------------------------------------------------------------------------------- */

struct heard {
	struct buf output;
	char kinds[512];
};

static void hear_output(void *userdata, int stream, const void *data, size_t size)
{
	struct heard *heard = userdata;

	cr_expect(stream == 1 || stream == 2);
	buf_append(&heard->output, data, size);
}

static void hear_event(void *userdata, const char *json)
{
	struct heard *heard = userdata;
	json_t *event = json_loads(json, 0, NULL);
	size_t used = strlen(heard->kinds);

	cr_assert_not_null(event, "%s", json);
	cr_expect_null(strchr(json, '\n'));
	cr_expect_not_null(json_object_get(event, "run_id"));
	(void)snprintf(heard->kinds + used, sizeof heard->kinds - used, "%s ",
		json_string_value(json_object_get(event, "event")));
	json_decref(event);
}

Test(supervisor, tells_what_happens)
{
	struct run run;
	struct heard heard = {0};
	struct supervisor_hooks hooks = {hear_output, &heard, hear_event, &heard};

	prepare(&run, "echo hello; sleep 300");
	run.plan.wall_ns = 700 * NS_PER_MS;
	start(&run);
	supervisor_set_hooks(run.supervisor, &hooks);
	wait_for(&run);
	cr_expect_str_eq(buf_str(&heard.output), "hello\n");
	cr_expect_eq(strncmp(heard.kinds, "started ", 8), 0, "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "output "), "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "sample "), "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "limit exited "), "%s", heard.kinds);
	buf_done(&heard.output);
	drop(&run);
}

/* --- many, and nothing left -------------------------------------------------------------------------------------- */

Test(supervisor, leaves_nothing_behind)
{
	int before = harness_count_fds();

	for (int i = 0; i < 20; i++) {
		struct run run;

		prepare(&run, i % 2 == 0 ? "echo x" : "sleep 300 &");
		go(&run);
		drop(&run);
	}
	cr_expect_eq(harness_count_fds(), before);
}

Test(supervisor, freeing_kills_what_runs)
{
	struct run run;
	int before = harness_count_fds();

	prepare(&run, "sleep 300");
	start(&run);
	drop(&run);
	cr_expect_eq(harness_count_fds(), before);
}

static void *run_some(void *failures)
{
	for (int i = 0; i < 5; i++) {
		struct run run;

		prepare(&run, "echo thread; exit 4");
		go(&run);
		*(int *)failures += run.outcome->exit_code != 4;
		drop(&run);
	}
	return NULL;
}

Test(supervisor, many_threads_at_once)
{
	pthread_t threads[6];
	int failures[6] = {0};

	for (int i = 0; i < 6; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, run_some, &failures[i]), 0);
	for (int i = 0; i < 6; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
		cr_expect_eq(failures[i], 0);
	}
}
