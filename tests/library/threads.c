/* In a program with many threads: runs start and end in any of them, and a thread that ends takes no run with it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/library/client.h"

#define RUNNERS 8
#define RUNS    50
#define WORKERS 4

static const char *const argv[] = {"/bin/true", NULL};

static void *run_many(void *unused)
{
	for (int i = 0; i < RUNS; i++) {
		pinfold_result *result = client_run(NULL, client_command(argv));

		CHECK(pinfold_result_status(result) == PINFOLD_EXITED && pinfold_result_exit_code(result) == 0, "%s",
			pinfold_result_json(result));
		(void)pinfold_result_free(result);
	}
	return unused;
}

/* Holds the locks of malloc and stdio as often as it can: a child that takes one of them never returns. */
static void *work(void *stop)
{
	FILE *log = fopen("/dev/null", "we");

	REQUIRE(log != NULL);
	while (!atomic_load((atomic_bool *)stop)) {
		void *memory = malloc((size_t)rand() % 100000);

		(void)fprintf(log, "%p\n", memory);
		(void)fflush(NULL);
		free(memory);
	}
	(void)fclose(log);
	return NULL;
}

static void runs_in_many_threads(void)
{
	pthread_t runners[RUNNERS];
	pthread_t workers[WORKERS];
	atomic_bool stop = false;
	int fds;

	/* The host handle keeps what it found out with the first run: a cgroup directory and its lock. */
	(void)pinfold_result_free(client_run(NULL, client_command(argv)));
	fds = client_count_fds();
	for (int i = 0; i < WORKERS; i++)
		REQUIRE(pthread_create(&workers[i], NULL, work, &stop) == 0);
	for (int i = 0; i < RUNNERS; i++)
		REQUIRE(pthread_create(&runners[i], NULL, run_many, NULL) == 0);
	for (int i = 0; i < RUNNERS; i++)
		REQUIRE(pthread_join(runners[i], NULL) == 0);
	atomic_store(&stop, true);
	for (int i = 0; i < WORKERS; i++)
		REQUIRE(pthread_join(workers[i], NULL) == 0);
	CHECK(client_count_fds() == fds, "%d descriptors, %d before", client_count_fds(), fds);
	CHECK(client_count_threads() == 1);
	CHECK(client_is_childless());
}

static void *start_and_end(void *ret_run)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 0.7; echo done");

	*(pinfold_run **)ret_run = client_start(policy, command);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
	return NULL;
}

static void a_run_outlives_its_thread(void)
{
	pinfold_run *run = NULL;
	pinfold_result *result;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, start_and_end, &run) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	(void)usleep(100000); /* the kernel has seen the thread end */
	result = client_wait(run);
	CHECK(pinfold_result_status(result) == PINFOLD_EXITED && pinfold_result_exit_code(result) == 0, "%s",
		pinfold_result_json(result));
	CHECK(client_printed(result, 1, "done\n"));
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
}

/* The thread is gone before the command is even executed. */
static void many_runs_outlive_their_threads(void)
{
	pinfold_run *runs[16];

	for (size_t i = 0; i < 16; i++) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, start_and_end, &runs[i]) == 0);
		REQUIRE(pthread_join(thread, NULL) == 0);
	}
	for (size_t i = 0; i < 16; i++) {
		pinfold_result *result = client_wait(runs[i]);

		CHECK(pinfold_result_exit_code(result) == 0 && client_printed(result, 1, "done\n"), "run %zu: %s", i,
			pinfold_result_json(result));
		(void)pinfold_result_free(result);
		(void)pinfold_run_free(runs[i]);
	}
}

static void *start_long_ones(void *ret_runs)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 40");

	for (size_t i = 0; i < RUNNERS; i++)
		((pinfold_run **)ret_runs)[i] = client_start(policy, command);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
	return NULL;
}

/* Where a child of one run held a pipe of another's, that one's output would end with the first run only. */
static void no_run_holds_anothers_streams(void)
{
	pinfold_run *runs[RUNNERS];
	uint64_t begun = client_now_ms();
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, start_long_ones, runs) == 0);
	for (int i = 0; i < 2 * RUNNERS; i++) {
		pinfold_result *result = client_run(NULL, client_shell("echo short"));

		CHECK(client_printed(result, 1, "short\n"), "%s", pinfold_result_json(result));
		(void)pinfold_result_free(result);
	}
	CHECK(client_now_ms() - begun < 30000, "they took %llu ms", (unsigned long long)(client_now_ms() - begun));
	REQUIRE(pthread_join(thread, NULL) == 0);
	for (size_t i = 0; i < RUNNERS; i++)
		(void)pinfold_run_free(runs[i]);
	CHECK(client_is_childless());
}

static void *cancel_soon(void *run)
{
	(void)usleep(200000);
	pinfold_run_cancel(run);
	pinfold_run_cancel(run);
	return NULL;
}

static void a_run_is_cancelled_by_another_thread(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("trap '' TERM INT; sleep 100 & sleep 100");
	pinfold_run *run = client_start(policy, command);
	uint64_t begun = client_now_ms();
	pinfold_result *result;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, cancel_soon, run) == 0);
	result = client_wait(run);
	CHECK(pinfold_result_status(result) == PINFOLD_CANCELLED);
	CHECK(client_now_ms() - begun < 2000, "it took %llu ms", (unsigned long long)(client_now_ms() - begun));
	REQUIRE(pthread_join(thread, NULL) == 0);
	pinfold_run_cancel(run); /* of a run that is over: nothing */
	(void)pinfold_run_free(run);
	(void)pinfold_result_free(result);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

int main(void)
{
	static const struct test tests[] = {
		{"eight threads run while four hold the locks of malloc and stdio", runs_in_many_threads},
		{"no run holds the streams of another", no_run_holds_anothers_streams},
		{"a run outlives the thread that started it", a_run_outlives_its_thread},
		{"sixteen runs outlive the threads that started them", many_runs_outlive_their_threads},
		{"another thread cancels a run", a_run_is_cancelled_by_another_thread},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
