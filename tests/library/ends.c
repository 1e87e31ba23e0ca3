/* What a caller can make of a run: let it end, let a limit end it, end it, let it never begin. */
#include "tests/library/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/library/client.h"

#define FLOOD_BYTES  300000
#define MOMENT_US    30000 /* when a run is cancelled, at the latest */
#define POLICY(more) "{\"version\": 1, \"limits\": {\"wall_time\": \"30s\"" more "}}"

static void succeed(unsigned *dice)
{
	static const char *const policies[] = {":read-only", ":workspace-write", ":eval", ":strict", ":unconfined"};
	pinfold_command *command = client_shell("echo hello; exit 3");
	pinfold_policy *policy = NULL;
	pinfold_error *err = NULL;
	pinfold_result *result;
	pinfold_run *run;

	REQUIRE(pinfold_policy_load(policies[(unsigned)rand_r(dice) % 5], &policy, &err) == 0, "%s", client_reason(err));
	run = client_start(policy, command);
	result = client_wait(run);
	CHECK(pinfold_result_exit_code(result) == 3 && client_printed(result, 1, "hello\n"), "%s",
		pinfold_result_json(result));
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_policy_free(policy);
	(void)pinfold_command_free(command);
}

static void leave_daemons(unsigned *dice)
{
	pinfold_result *result =
		client_run(NULL, client_shell("setsid sleep 100 & (sleep 100 | sleep 100) & sleep 0.01; exit 4"));

	(void)dice;
	CHECK(pinfold_result_exit_code(result) == 4 && pinfold_result_note(result) != NULL, "%s",
		pinfold_result_json(result));
	(void)pinfold_result_free(result);
}

static void fail_to_execute(unsigned *dice)
{
	static const char *const argv[] = {"/nowhere/to/be/found", NULL};
	pinfold_result *result = client_run(NULL, client_command(argv));

	(void)dice;
	CHECK(pinfold_result_status(result) == PINFOLD_SETUP_FAILED && pinfold_result_exit_status(result) == 127, "%s",
		pinfold_result_json(result));
	CHECK(pinfold_result_note(result) != NULL);
	(void)pinfold_result_free(result);
}

static void run_out_of_time(unsigned *dice)
{
	char policy[128];
	pinfold_result *result;

	(void)snprintf(policy, sizeof policy, "{\"version\": 1, \"limits\": {\"wall_time\": \"%dms\"}}",
		1 + rand_r(dice) % 50);
	result = client_run(policy, client_shell("sleep 100 & sleep 100"));
	CHECK(pinfold_result_status(result) == PINFOLD_TIMED_OUT && pinfold_result_exit_status(result) == 124, "%s",
		pinfold_result_json(result));
	(void)pinfold_result_free(result);
}

/* tail keeps it all, and waits for a reader. */
static void run_out_of_memory(unsigned *dice)
{
	pinfold_result *result =
		client_run(POLICY(", \"memory\": \"16M\""), client_shell("head -c 100M /dev/zero | tail | sleep 30"));

	(void)dice;
	CHECK(pinfold_result_status(result) == PINFOLD_OUT_OF_MEMORY, "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
}

static void flood(unsigned *dice)
{
	pinfold_result *result = client_run(
		POLICY(", \"output\": \"10000\""), client_shell("yes | head -c 300000; yes | head -c 300000 >&2"));
	uint64_t total = 0;
	size_t kept = 0;

	(void)dice;
	for (int stream = 1; stream <= 2; stream++) {
		CHECK(pinfold_result_output(result, stream, &kept, &total) != NULL);
		CHECK(kept <= 10000 && total == FLOOD_BYTES, "%zu of %llu", kept, (unsigned long long)total);
	}
	CHECK(pinfold_result_json(result) != NULL);
	(void)pinfold_result_free(result);
}

static void feed(unsigned *dice)
{
	static const char *const argv[] = {"cat", NULL};
	size_t size = 1 + (size_t)rand_r(dice) % FLOOD_BYTES;
	char *data = malloc(size + 1);
	pinfold_command *command = client_command(argv);
	pinfold_error *err = NULL;
	pinfold_result *result;

	REQUIRE(data != NULL);
	memset(data, 'x', size);
	data[size] = '\0';
	REQUIRE(pinfold_command_set_stdin(command, PINFOLD_STDIN_DATA, -1, data, size, &err) == 0, "%s",
		client_reason(err));
	result = client_run(NULL, command);
	CHECK(client_printed(result, 1, data), "%zu bytes", size);
	(void)pinfold_result_free(result);
	free(data);
}

static void cancel(unsigned *dice)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("trap '' TERM; sleep 100 & sleep 100");
	pinfold_run *run = client_start(policy, command);
	pinfold_result *result;

	(void)usleep((useconds_t)(rand_r(dice) % MOMENT_US));
	pinfold_run_cancel(run);
	result = client_wait(run);
	CHECK(pinfold_result_status(result) == PINFOLD_CANCELLED, "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void refuse(unsigned *dice)
{
	pinfold_policy *policy = NULL;
	pinfold_error *err = NULL;

	(void)dice;
	CHECK(pinfold_policy_parse(
		      "{\"version\": 1, \"limits\": {\"memry\": 1}, \"x\": 2}", "test", NULL, &policy, &err) < 0);
	CHECK(policy == NULL && pinfold_error_detail(err, 1) != NULL && pinfold_error_json(err) != NULL);
	err = pinfold_error_free(err);
	CHECK(pinfold_policy_load(":nothing", &policy, &err) < 0);
	err = pinfold_error_free(err);
}

/* The policy is sound, and what it asks for is not to be had: refused before or while the boundary is built. */
static void refuse_to_start(unsigned *dice)
{
	pinfold_policy *policy = client_policy("{\"version\": 1, \"filesystem\": {\"write\": [\"not/there\"]}}");
	pinfold_command *command = client_shell("true");
	pinfold_run *run = NULL;
	pinfold_error *err = NULL;

	(void)dice;
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

static void abandon(unsigned *dice)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 100");

	(void)dice;
	(void)pinfold_run_free(client_start(policy, command));
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static const end_fn ends[] = {succeed, leave_daemons, fail_to_execute, run_out_of_time, run_out_of_memory, flood, feed,
	cancel, refuse, refuse_to_start, abandon};

size_t ends_count(void)
{
	return sizeof ends / sizeof *ends;
}

end_fn end_at(size_t n)
{
	return n < ends_count() ? ends[n] : NULL;
}
