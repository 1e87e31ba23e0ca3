/* A library in somebody else's process: signals, children, descriptors and the rest of it stay as they were. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/library/client.h"

static volatile sig_atomic_t signals;

static void on_child(int signal_number)
{
	(void)signal_number;
	signals++;
}

static void the_hosts_own_child_is_left_alone(void)
{
	const struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	struct sigaction before;
	struct sigaction after;
	int status = 0;
	pid_t own;

	signals = 0;
	REQUIRE(sigaction(SIGCHLD, &action, &before) == 0);
	own = fork();
	REQUIRE(own >= 0);
	if (own == 0) {
		(void)usleep(300000);
		_exit(7);
	}
	for (int i = 0; i < 10; i++)
		(void)pinfold_result_free(client_run(NULL, client_shell("true & true")));
	CHECK(waitpid(-1, &status, 0) == own && WIFEXITED(status) && WEXITSTATUS(status) == 7, "its status is gone");
	REQUIRE(sigaction(SIGCHLD, &before, &after) == 0);
	CHECK(after.sa_handler == on_child && (after.sa_flags & SA_RESTART) != 0, "the handler was replaced");
	CHECK(signals >= 1);
}

static void reap_all(int signal_number)
{
	int saved_errno = errno;

	(void)signal_number;
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		;
	errno = saved_errno;
}

/* As many event loops and test runners do. */
static void the_host_may_wait_for_any_child(void)
{
	const struct sigaction action = {.sa_handler = reap_all, .sa_flags = SA_RESTART};
	struct sigaction before;

	REQUIRE(sigaction(SIGCHLD, &action, &before) == 0);
	for (int i = 0; i < 20; i++) {
		pinfold_result *result = client_run(NULL, client_shell("exit 5"));

		CHECK(pinfold_result_exit_code(result) == 5, "%s", pinfold_result_json(result));
		(void)pinfold_result_free(result);
	}
	REQUIRE(sigaction(SIGCHLD, &before, NULL) == 0);
}

/* With SIGCHLD ignored the kernel reaps by itself: the result must come all the same. */
static void sigchld_may_be_ignored(void)
{
	pinfold_result *result;

	REQUIRE(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	result = client_run(NULL, client_shell("sleep 0.1; exit 5"));
	CHECK(pinfold_result_exit_code(result) == 5, "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
	REQUIRE(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

static void no_handler_and_no_mask_is_changed(void)
{
	struct sigaction before[65];
	sigset_t mask;
	sigset_t mask_after;

	for (int i = 1; i < 65; i++)
		(void)sigaction(i, NULL, &before[i]);
	REQUIRE(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
	(void)pinfold_result_free(client_run(NULL, client_shell("kill -9 $$")));
	for (int i = 1; i < 65; i++) {
		struct sigaction after;

		if (sigaction(i, NULL, &after) == 0)
			CHECK(after.sa_handler == before[i].sa_handler, "signal %d", i);
	}
	REQUIRE(sigprocmask(SIG_SETMASK, NULL, &mask_after) == 0);
	for (int i = 1; i < 65; i++)
		CHECK(sigismember(&mask, i) == sigismember(&mask_after, i), "signal %d", i);
}

static void a_command_that_does_not_read_ends_nobody(void)
{
	const size_t size = 4u << 20;
	char *data = calloc(1, size);
	static const char *const argv[] = {"/bin/true", NULL};
	pinfold_command *command = client_command(argv);
	pinfold_error *err = NULL;
	pinfold_result *result;

	REQUIRE(data != NULL && signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	REQUIRE(pinfold_command_set_stdin(command, PINFOLD_STDIN_DATA, -1, data, size, &err) == 0);
	free(data);
	result = client_run(NULL, command);
	CHECK(pinfold_result_exit_code(result) == 0);
	(void)pinfold_result_free(result);
}

/* A pager that is closed before the output ends. */
static void a_reader_that_is_gone_ends_nobody(void)
{
	pinfold_command *command = client_shell("head -c 300000 /dev/zero");
	pinfold_error *err = NULL;
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	REQUIRE(close(ends[0]) == 0);
	REQUIRE(pinfold_command_set_output(command, PINFOLD_OUTPUT_RELAY, ends[1], ends[1], &err) == 0);
	(void)pinfold_result_free(client_run(NULL, command));
	REQUIRE(close(ends[1]) == 0);
}

static void limit_file_size(rlim_t bytes, rlim_t hard)
{
	const struct rlimit limit = {bytes, hard};

	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Both what pinfold needs itself and what it passes on are files that may meet it. */
static void a_limit_of_file_size_ends_nobody(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("head -c 300000 /dev/zero");
	FILE *file = tmpfile();
	pinfold_error *err = NULL;
	pinfold_result *result;
	pinfold_run *run;
	struct rlimit before;
	struct stat status;

	REQUIRE(file != NULL && signal(SIGXFSZ, SIG_DFL) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &before) == 0);
	REQUIRE(pinfold_command_set_output(command, PINFOLD_OUTPUT_RELAY, fileno(file), fileno(file), &err) == 0);
	limit_file_size(1, before.rlim_max);
	CHECK(pinfold_run_start(client_host(), policy, command, &run, &err) < 0);
	CHECK(strstr(client_reason(err), "File too large") != NULL, "%s", client_reason(err));
	err = pinfold_error_free(err);

	limit_file_size(200000, before.rlim_max);
	run = client_start(policy, command);
	result = client_wait(run);
	CHECK(pinfold_result_exit_status(result) == 125, "%d", pinfold_result_exit_status(result));
	CHECK(fstat(fileno(file), &status) == 0 && status.st_size == 200000, "%lld", (long long)status.st_size);
	limit_file_size(before.rlim_cur, before.rlim_max);
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_policy_free(policy);
	(void)pinfold_command_free(command);
	(void)fclose(file);
}

static void no_descriptor_of_the_hosts_is_inside(void)
{
	int low = open("/dev/null", O_RDONLY);
	pinfold_result *result;
	size_t kept = 0;
	const char *data;

	REQUIRE(low >= 0 && dup2(low, 200) == 200);
	result = client_run(NULL, client_shell("cd /proc/self/fd && echo *"));
	data = pinfold_result_output(result, 1, &kept, NULL);
	CHECK(client_printed(result, 1, "0 1 2 3\n") || client_printed(result, 1, "0 1 2\n"), "%.*s", (int)kept, data);
	(void)pinfold_result_free(result);
	CHECK(close(200) == 0 && close(low) == 0);
}

/* A daemon has closed the standard streams: what the library opens gets their numbers. */
static void the_standard_streams_may_be_closed(void)
{
	int saved[3];
	pinfold_result *result;
	bool right;

	(void)fflush(stdout);
	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		if (saved[i] >= 0)
			(void)close(i);
	}
	result = client_run(NULL, client_shell("cat; echo out; echo err >&2"));
	right = client_printed(result, 1, "out\n") && client_printed(result, 2, "err\n");
	for (int i = 0; i < 3; i++) {
		if (saved[i] >= 0 && (dup2(saved[i], i) != i || close(saved[i]) != 0))
			client_end();
	}
	CHECK(right, "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
}

static void the_process_keeps_its_place(void)
{
	char here[4096];
	char there[4096];
	mode_t mask = umask(027);

	REQUIRE(getcwd(here, sizeof here) != NULL);
	(void)pinfold_result_free(client_run(NULL, client_shell("umask; cd /")));
	REQUIRE(getcwd(there, sizeof there) != NULL);
	CHECK(strcmp(here, there) == 0);
	CHECK(umask(mask) == 027);
}

int main(void)
{
	static const struct test tests[] = {
		{"the host's own child and its SIGCHLD handler are left alone", the_hosts_own_child_is_left_alone},
		{"the host may wait for any child", the_host_may_wait_for_any_child},
		{"SIGCHLD may be ignored", sigchld_may_be_ignored},
		{"no handler and no mask is changed", no_handler_and_no_mask_is_changed},
		{"a command that does not read its input ends nobody by SIGPIPE",
			a_command_that_does_not_read_ends_nobody},
		{"a reader that is gone ends nobody by SIGPIPE", a_reader_that_is_gone_ends_nobody},
		{"a limit of the host's own on the size of files ends nobody by SIGXFSZ",
			a_limit_of_file_size_ends_nobody},
		{"no descriptor of the host's is inside", no_descriptor_of_the_hosts_is_inside},
		{"the standard streams may be closed", the_standard_streams_may_be_closed},
		{"directory and umask stay", the_process_keeps_its_place},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
