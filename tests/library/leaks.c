/* Three hundred runs of every kind of end leave the process as it was: descriptors, threads, children, memory. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/library/client.h"

#define ROUNDS      60           /* of five runs each */
#define SLACK_BYTES (256u << 10) /* what the thread cache of malloc may hold back at most */

static void succeed(void)
{
	pinfold_result *result = client_run(NULL, client_shell("echo hello; exit 3"));

	CHECK(pinfold_result_exit_code(result) == 3 && pinfold_result_json(result) != NULL);
	(void)pinfold_result_free(result);
}

static void fail_to_execute(void)
{
	static const char *const argv[] = {"/nowhere/to/be/found", NULL};
	pinfold_result *result = client_run(NULL, client_command(argv));

	CHECK(pinfold_result_status(result) == PINFOLD_SETUP_FAILED && pinfold_result_exit_status(result) == 127, "%s",
		pinfold_result_json(result));
	CHECK(pinfold_result_note(result) != NULL);
	(void)pinfold_result_free(result);
}

static void run_out_of_time(void)
{
	pinfold_result *result = client_run(
		"{\"version\": 1, \"limits\": {\"wall_time\": \"50ms\"}}", client_shell("sleep 100 & sleep 100"));

	CHECK(pinfold_result_status(result) == PINFOLD_TIMED_OUT && pinfold_result_exit_status(result) == 124);
	(void)pinfold_result_free(result);
}

static void refuse(void)
{
	pinfold_policy *policy = NULL;
	pinfold_error *err = NULL;

	CHECK(pinfold_policy_parse(
		      "{\"version\": 1, \"limits\": {\"memry\": 1}, \"x\": 2}", "test", NULL, &policy, &err) < 0);
	CHECK(policy == NULL && pinfold_error_detail(err, 1) != NULL && pinfold_error_json(err) != NULL);
	err = pinfold_error_free(err);
	CHECK(pinfold_policy_load(":nothing", &policy, &err) < 0);
	err = pinfold_error_free(err);
}

/* The policy is sound, and what it asks for is not to be had: refused before or while the boundary is built. */
static void refuse_to_start(void)
{
	pinfold_policy *policy = client_policy("{\"version\": 1, \"filesystem\": {\"write\": [\"not/there\"]}}");
	pinfold_command *command = client_shell("true");
	pinfold_run *run = NULL;
	pinfold_error *err = NULL;

	CHECK(pinfold_run_start(client_host(), policy, command, &run, &err) < 0 && run == NULL);
	err = pinfold_error_free(err);
	(void)pinfold_policy_free(policy);
	policy = client_policy("{\"version\": 1, \"process\": {\"hostname\": \"x\"}, \"limits\": {\"tmp_size\": \"64K\"},"
			       "\"filesystem\": {\"root\": \"empty\"}}");
	CHECK(pinfold_command_set_directory(command, "/usr", &err) == 0);
	CHECK(pinfold_run_start(client_host(), policy, command, &run, &err) < 0 || run != NULL);
	(void)pinfold_run_free(run);
	(void)pinfold_error_free(err);
	(void)pinfold_policy_free(policy);
	(void)pinfold_command_free(command);
}

static void abandon(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 100");

	(void)pinfold_run_free(client_start(policy, command));
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void one_round(void)
{
	succeed();
	fail_to_execute();
	run_out_of_time();
	refuse();
	refuse_to_start();
	abandon();
}

/* A sanitizer has an allocator of its own, and a leak check of its own, too. */
#if defined(__SANITIZE_ADDRESS__)
static size_t memory_in_use(void)
{
	return 0;
}
#else
static size_t memory_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
#endif

static void nothing_is_left(void)
{
	size_t memory;
	int fds;

	for (int i = 0; i < 3; i++)
		one_round(); /* what is made once and kept */
	fds = client_count_fds();
	memory = memory_in_use();
	for (int i = 0; i < ROUNDS; i++)
		one_round();
	CHECK(client_count_fds() == fds, "%d descriptors, %d before", client_count_fds(), fds);
	CHECK(client_count_threads() == 1, "%d threads", client_count_threads());
	CHECK(client_is_childless(), "a child is left");
	CHECK(memory_in_use() <= memory + SLACK_BYTES, "%zu bytes in use, %zu before", memory_in_use(), memory);
}

static void checking_leaves_nothing(void)
{
	pinfold_policy *policy = client_default_policy();
	size_t memory = 0;
	int fds = client_count_fds();

	for (int i = 0; i < 30; i++) {
		pinfold_host *host = NULL;
		pinfold_report *report = NULL;
		pinfold_error *err = NULL;

		REQUIRE(pinfold_host_new(&host, &err) == 0, "%s", client_reason(err));
		REQUIRE(pinfold_check(host, policy, NULL, &report, &err) == 0, "%s", client_reason(err));
		CHECK(pinfold_report_text(report, 1) != NULL && pinfold_report_json(report) != NULL);
		(void)pinfold_report_free(report);
		(void)pinfold_host_free(host);
		if (i == 5)
			memory = memory_in_use();
	}
	CHECK(client_count_fds() == fds);
	CHECK(client_is_childless());
	CHECK(memory_in_use() <= memory + SLACK_BYTES, "%zu bytes in use, %zu before", memory_in_use(), memory);
	(void)pinfold_policy_free(policy);
}

int main(void)
{
	static const struct test tests[] = {
		{"three hundred runs of every kind leave nothing", nothing_is_left},
		{"asking what a host can do leaves nothing", checking_leaves_nothing},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
