#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "tests/unit/harness.h"
#include "tests/unit/supervised_run.h"

TestSuite(supervisor, .fini = harness_leak_check, .timeout = 120);

/* --- streams --------------------------------------------------------------------------------------------------------- */

Test(supervisor, feeds_much_while_much_comes_out)
{
	struct run run;
	static char input[5 << 20];

	run_prepare(&run, "head -c 3000000 /dev/zero; wc -c >&2");
	run.plan.stdin_mode = PLAN_STDIN_DATA;
	run.plan.stdin_data = input;
	run.plan.stdin_size = sizeof input;
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	cr_expect_eq(run.outcome->streams[0].bytes, 3000000);
	cr_expect_eq(run.outcome->streams[0].kept, 1u << 20);
	cr_expect_eq(run.outcome->streams[0].omitted_bytes, 3000000 - (1u << 20));
	run_expect_stream(&run.outcome->streams[1], "5242880\n");
	run_drop(&run);
}

Test(supervisor, survives_a_command_that_does_not_read)
{
	struct run run;
	static char input[5 << 20];

	run_prepare(&run, "exit 0");
	run.plan.stdin_mode = PLAN_STDIN_DATA;
	run.plan.stdin_data = input;
	run.plan.stdin_size = sizeof input;
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	run_drop(&run);
}

Test(supervisor, drains_a_flood_beyond_the_cap)
{
	struct run run;

	run_prepare(&run, "yes & yes >&2");
	run.plan.output_bytes = 65536;
	run.plan.wall_ns = 500 * NS_PER_MS;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(run.outcome->streams[i].kept, 65536);
		cr_expect_gt(run.outcome->streams[i].bytes, 1000000);
	}
	run_drop(&run);
}

/* --- an init that misbehaves ----------------------------------------------------------------------------------------- */

Test(supervisor, an_init_without_a_word_is_a_failure)
{
	struct run run;

	run_prepare(&run, "@silent");
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_SETUP_FAILED);
	cr_expect_eq(run.outcome->error.code, ERROR_INTERNAL);
	run_drop(&run);
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

	run_prepare(&run, "@killed");
	run_start(&run);
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, text, sizeof text - 1), 0);
	fd_close(fd);
	pid = (pid_t)atoi(text);
	cr_assert_gt(pid, 1);
	cr_assert_eq(pthread_create(&thread, NULL, kill_later, &pid), 0);
	run_wait(&run);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(run.outcome->status, OUTCOME_SIGNALED);
	cr_expect_eq(run.outcome->signal, SIGKILL);
	run_drop(&run);
}

Test(supervisor, an_init_that_kept_the_deadline_is_believed)
{
	struct run run;

	run_prepare(&run, "@deadline");
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect_str_eq(run.outcome->limit_name, "wall_time");
	run_drop(&run);
}

/* What it left behind took until the deadline to die. */
Test(supervisor, a_command_that_ended_before_the_deadline_has_not_met_it)
{
	struct run run;

	run_prepare(&run, "@late");
	run.plan.wall_ns = 60 * NS_PER_S;
	run_go(&run);
	run_expect_exit(run.outcome, 3);
	cr_expect_null(run.outcome->limit_name);
	run_drop(&run);
}

Test(supervisor, an_init_that_does_not_end_is_killed)
{
	struct run run;

	run_prepare(&run, "@stuck");
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	cr_expect_lt(run.took_ns, 10 * NS_PER_S);
	run_drop(&run);
}

Test(supervisor, what_cannot_be_killed_is_named)
{
	struct run run;

	run_prepare(&run, "@immortal");
	run.plan.wall_ns = 100 * NS_PER_MS;
	run_go(&run);
	cr_expect_eq(run.outcome->status, OUTCOME_TIMED_OUT);
	cr_expect_geq(run.took_ns, 10 * NS_PER_S);
	cr_assert_eq(run.outcome->n_unkillable, 1);
	cr_expect_not_null(strstr(run.outcome->unkillable[0], "(2)"), "%s", run.outcome->unkillable[0]);
	run_drop(&run);
}

Test(supervisor, messages_of_a_wrong_form_are_passed_over)
{
	struct run run;

	run_prepare(&run, "@garbage");
	run_go(&run);
	run_expect_exit(run.outcome, 0);
	run_drop(&run);
}

/* --- hooks ----------------------------------------------------------------------------------------------------------- */

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

	run_prepare(&run, "echo hello; sleep 300");
	run.plan.wall_ns = 1500 * NS_PER_MS;
	run.plan.watch_processes = 1000; /* so that looks may cost something */
	run_start(&run);
	supervisor_set_hooks(run.supervisor, &hooks);
	run_wait(&run);
	cr_expect_str_eq(buf_str(&heard.output), "hello\n");
	cr_expect_eq(strncmp(heard.kinds, "started ", 8), 0, "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "output "), "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "sample "), "%s", heard.kinds);
	cr_expect_not_null(strstr(heard.kinds, "limit exited "), "%s", heard.kinds);
	buf_done(&heard.output);
	run_drop(&run);
}

/* --- many, and nothing left ------------------------------------------------------------------------------------------ */

Test(supervisor, leaves_nothing_behind)
{
	int before = harness_count_fds();

	for (int i = 0; i < 20; i++) {
		struct run run;

		run_prepare(&run, i % 2 == 0 ? "echo x" : "sleep 300 &");
		run_go(&run);
		run_drop(&run);
	}
	cr_expect_eq(harness_count_fds(), before);
}

Test(supervisor, freeing_kills_what_runs)
{
	struct run run;
	int before = harness_count_fds();

	run_prepare(&run, "sleep 300");
	run_start(&run);
	run_drop(&run);
	cr_expect_eq(harness_count_fds(), before);
}

static void *run_some(void *failures)
{
	for (int i = 0; i < 5; i++) {
		struct run run;

		run_prepare(&run, "echo thread; exit 4");
		run_go(&run);
		*(int *)failures += run.outcome->exit_code != 4;
		run_drop(&run);
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
