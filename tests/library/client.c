/* The counting is done by /proc and wait(2), so that it sees what a host program would. */
#include "tests/library/client.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 240 /* a test that takes longer hangs */

static struct {
	char workspace[PATH_MAX];
	pinfold_host *host;
	atomic_uint failures;
	const char *skipped;
	pid_t pid;
} client;

void client_fail(const char *file, int line, const char *condition, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	(void)printf("# %s:%d: %s:%s\n", file, line, condition, text);
	atomic_fetch_add(&client.failures, 1);
}

void client_end(void)
{
	(void)printf("Bail out!\n");
	exit(1);
}

void client_skip(const char *why)
{
	client.skipped = why;
}

static void remove_workspace(void)
{
	if (getpid() == client.pid)
		(void)rmdir(client.workspace);
}

static void make_workspace(void)
{
	const char *parent = getenv("TMPDIR");

	(void)snprintf(client.workspace, sizeof client.workspace, "%s/pinfold-library-XXXXXX",
		parent != NULL && parent[0] == '/' ? parent : "/tmp");
	REQUIRE(mkdtemp(client.workspace) != NULL, "mkdtemp %s: %s", client.workspace, strerror(errno));
	client.pid = getpid();
	REQUIRE(atexit(remove_workspace) == 0);
	REQUIRE(chdir(client.workspace) == 0);
}

int client_main(const struct test *tests, size_t n)
{
	pinfold_error *err = NULL;
	unsigned failed = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	make_workspace();
	REQUIRE(pinfold_host_new(&client.host, &err) == 0, "%s", client_reason(err));
	(void)printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++) {
		atomic_store(&client.failures, 0);
		client.skipped = NULL;
		(void)alarm(SECONDS_MAX);
		tests[i].run();
		(void)alarm(0);
		failed += atomic_load(&client.failures) > 0;
		(void)printf("%s %zu - %s%s%s\n", atomic_load(&client.failures) > 0 ? "not ok" : "ok", i + 1,
			tests[i].name, client.skipped != NULL ? " # SKIP " : "",
			client.skipped != NULL ? client.skipped : "");
	}
	(void)pinfold_host_free(client.host);
	return failed > 0;
}

const char *client_workspace(void)
{
	return client.workspace;
}

pinfold_host *client_host(void)
{
	return client.host;
}

const char *client_reason(pinfold_error *err)
{
	return err != NULL ? pinfold_error_message(err) : "no reason given";
}

pinfold_policy *client_policy(const char *text)
{
	pinfold_policy *policy = NULL;
	pinfold_error *err = NULL;

	REQUIRE(pinfold_policy_parse(text, "test", NULL, &policy, &err) == 0, "%s", client_reason(err));
	return policy;
}

pinfold_policy *client_default_policy(void)
{
	return client_policy("{\"version\": 1, \"limits\": {\"wall_time\": \"30s\"}}");
}

pinfold_command *client_command(const char *const *argv)
{
	pinfold_command *command = NULL;
	pinfold_error *err = NULL;

	REQUIRE(pinfold_command_new(argv, &command, &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_command_set_workspace(command, client.workspace, &err) == 0, "%s", client_reason(err));
	return command;
}

pinfold_command *client_shell(const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};

	return client_command(argv);
}

pinfold_run *client_start(pinfold_policy *policy, pinfold_command *command)
{
	pinfold_run *run = NULL;
	pinfold_error *err = NULL;

	REQUIRE(pinfold_run_start(client.host, policy, command, &run, &err) == 0, "%s", client_reason(err));
	return run;
}

pinfold_result *client_wait(pinfold_run *run)
{
	pinfold_result *result = NULL;
	pinfold_error *err = NULL;

	REQUIRE(pinfold_run_wait(run, &result, &err) == 0, "%s", client_reason(err));
	return result;
}

pinfold_result *client_run(const char *policy, pinfold_command *command)
{
	pinfold_policy *parsed = policy != NULL ? client_policy(policy) : client_default_policy();
	pinfold_run *run = client_start(parsed, command);
	pinfold_result *result = client_wait(run);

	(void)pinfold_run_free(run);
	(void)pinfold_policy_free(parsed);
	(void)pinfold_command_free(command);
	return result;
}

bool client_printed(const pinfold_result *result, int stream, const char *text)
{
	size_t kept = 0;
	const void *data = pinfold_result_output(result, stream, &kept, NULL);

	return kept == strlen(text) && (kept == 0 || memcmp(data, text, kept) == 0);
}

uint64_t client_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int n = 0;

	REQUIRE(directory != NULL, "%s: %s", path, strerror(errno));
	for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
		n += entry->d_name[0] != '.';
	(void)closedir(directory);
	return n;
}

int client_count_fds(void)
{
	return count_entries("/proc/self/fd") - 1; /* the listing's own */
}

int client_count_threads(void)
{
	return count_entries("/proc/self/task");
}

bool client_is_childless(void)
{
	return waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}
