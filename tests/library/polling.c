/* The form for programs with an event loop of their own. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/library/client.h"

#define RUNS 6

static void several_runs_in_one_loop(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_run *runs[RUNS];
	struct pollfd polls[RUNS];
	size_t left = RUNS;

	for (int i = 0; i < RUNS; i++) {
		char script[64];
		pinfold_command *command;

		(void)snprintf(
			script, sizeof script, "echo begin %d; sleep 0.%d; echo end %d; exit %d", i, RUNS - i, i, i);
		command = client_shell(script);
		runs[i] = client_start(policy, command);
		polls[i] = (struct pollfd){.fd = pinfold_run_fd(runs[i]), .events = POLLIN};
		(void)pinfold_command_free(command);
	}
	(void)pinfold_policy_free(policy);
	while (left > 0) {
		REQUIRE(poll(polls, RUNS, 30000) > 0, "nothing happens any more");
		for (int i = 0; i < RUNS; i++) {
			pinfold_error *err = NULL;
			uint64_t begun = client_now_ms();
			int r;

			if (polls[i].fd < 0 || polls[i].revents == 0)
				continue;
			r = pinfold_run_dispatch(runs[i], &err);
			REQUIRE(r >= 0, "%s", client_reason(err));
			CHECK(client_now_ms() - begun < 250, "dispatch blocked for %llu ms",
				(unsigned long long)(client_now_ms() - begun));
			if (r == 1) {
				polls[i].fd = -1;
				left--;
			}
		}
	}
	for (int i = 0; i < RUNS; i++) {
		pinfold_result *result = client_wait(runs[i]);
		char text[64];

		(void)snprintf(text, sizeof text, "begin %d\nend %d\n", i, i);
		CHECK(pinfold_result_exit_code(result) == i && client_printed(result, 1, text), "%s",
			pinfold_result_json(result));
		(void)pinfold_result_free(result);
		(void)pinfold_run_free(runs[i]);
	}
}

struct heard {
	char text[2][64];
	size_t size[2];
	size_t total[2];
	unsigned events, started, exited;
};

static void hear_output(void *userdata, int stream, const void *data, size_t size)
{
	struct heard *heard = userdata;
	size_t i = (size_t)stream - 1;

	REQUIRE(stream == 1 || stream == 2);
	for (size_t at = 0; at < size && heard->size[i] < sizeof heard->text[i] - 1; at++)
		heard->text[i][heard->size[i]++] = ((const char *)data)[at];
	heard->total[i] += size;
}

static void hear_event(void *userdata, const char *json)
{
	struct heard *heard = userdata;
	json_t *event = json_loads(json, 0, NULL);

	CHECK(json_is_object(event), "no JSON object: %s", json);
	CHECK(strchr(json, '\n') == NULL);
	heard->events++;
	heard->started += strstr(json, "\"started\"") != NULL;
	heard->exited += strstr(json, "\"exited\"") != NULL;
	json_decref(event);
}

static void output_and_events_come_while_it_runs(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("printf one; printf two >&2; sleep 0.2; printf three");
	pinfold_run *run = client_start(policy, command);
	struct heard heard = {.events = 0};
	pinfold_result *result;

	pinfold_run_on_output(run, hear_output, &heard);
	pinfold_run_on_event(run, hear_event, &heard);
	result = client_wait(run);
	CHECK(strcmp(heard.text[0], "onethree") == 0, "%s", heard.text[0]);
	CHECK(strcmp(heard.text[1], "two") == 0, "%s", heard.text[1]);
	CHECK(heard.events >= 2 && heard.exited == 1, "%u events", heard.events);
	CHECK(client_printed(result, 1, "onethree") && client_printed(result, 2, "two"));
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

/* More than is kept: the callback gets what the command writes, the result its head and tail. */
static void output_beyond_the_cap(void)
{
	pinfold_policy *policy =
		client_policy("{\"version\": 1, \"limits\": {\"wall_time\": \"30s\", \"output\": \"1K\"}}");
	pinfold_command *command = client_shell("head -c 300000 /dev/zero");
	pinfold_run *run = client_start(policy, command);
	struct heard heard = {.events = 0};
	pinfold_result *result;
	uint64_t total = 0;
	size_t kept = 0;

	pinfold_run_on_output(run, hear_output, &heard);
	result = client_wait(run);
	(void)pinfold_result_output(result, 1, &kept, &total);
	CHECK(kept == 1024 && total == 300000, "kept %zu of %llu", kept, (unsigned long long)total);
	CHECK(pinfold_result_exit_code(result) == 0);
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static pinfold_run *volatile to_cancel;

static void on_timer(int signal_number)
{
	(void)signal_number;
	pinfold_run_cancel(to_cancel);
}

static void a_signal_handler_cancels(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 100");
	pinfold_run *run = client_start(policy, command);
	const struct sigaction action = {.sa_handler = on_timer};
	const struct itimerval soon = {.it_value = {.tv_usec = 200000}};
	uint64_t begun = client_now_ms();
	pinfold_result *result;
	struct sigaction before;

	to_cancel = run;
	REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
	REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	result = client_wait(run);
	REQUIRE(sigaction(SIGALRM, &before, NULL) == 0);
	CHECK(pinfold_result_status(result) == PINFOLD_CANCELLED, "%s", pinfold_result_json(result));
	CHECK(client_now_ms() - begun < 2000);
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

/* The end of a pipe that every process of the tree holds tells when the last one is gone. */
static void freeing_a_run_kills_its_tree(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("setsid sleep 100 & (trap '' TERM; sleep 100) & echo up; sleep 100");
	pinfold_error *err = NULL;
	struct pollfd end;
	pinfold_run *run;
	char text[16];
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	REQUIRE(pinfold_command_set_output(command, PINFOLD_OUTPUT_FD, ends[1], ends[1], &err) == 0);
	run = client_start(policy, command);
	REQUIRE(close(ends[1]) == 0);
	REQUIRE(read(ends[0], text, sizeof text) == 3);
	end = (struct pollfd){.fd = ends[0], .events = POLLIN};
	CHECK(poll(&end, 1, 100) == 0, "it ended by itself");
	(void)pinfold_run_free(run);
	CHECK(poll(&end, 1, 1000) == 1 && read(ends[0], text, sizeof text) == 0, "something of it lives");
	CHECK(client_is_childless());
	REQUIRE(close(ends[0]) == 0);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

int main(void)
{
	static const struct test tests[] = {
		{"several runs in one poll loop", several_runs_in_one_loop},
		{"output and events come while it runs", output_and_events_come_while_it_runs},
		{"output beyond the cap is counted and cut", output_beyond_the_cap},
		{"a signal handler cancels a run", a_signal_handler_cancels},
		{"freeing a run kills its tree", freeing_a_run_kills_its_tree},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
