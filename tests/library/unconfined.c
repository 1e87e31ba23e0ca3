/* Without a boundary the library shares its host program's process tree, and must touch nothing of it but the run's. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/library/client.h"

#define POLICY "{\"extends\": \":unconfined\", \"limits\": {\"wall_time\": \"20s\"}}"

static pid_t own_child(void)
{
	pid_t own = fork();

	REQUIRE(own >= 0);
	if (own == 0) {
		for (;;)
			(void)pause();
	}
	return own;
}

static void end_own_child(pid_t own)
{
	CHECK(waitpid(own, NULL, WNOHANG) == 0, "the host program's own child is gone");
	(void)kill(own, SIGKILL);
	(void)waitpid(own, NULL, 0);
}

static void a_run_is_a_run(void)
{
	pinfold_result *result = client_run(POLICY, client_shell("cat; echo said; echo \"$PINFOLD\" >&2; exit 3"));

	CHECK(pinfold_result_exit_code(result) == 3, "%s", pinfold_result_json(result));
	CHECK(client_printed(result, 1, "said\n") && client_printed(result, 2, "1\n"));
	CHECK(strstr(pinfold_result_json(result), "\"isolated\": false") != NULL);
	(void)pinfold_result_free(result);
}

static void the_hosts_children_stay_its_own(void)
{
	int subreaper = 1;
	pid_t own = own_child();
	pinfold_result *result = client_run(POLICY, client_shell("setsid sleep 300 & (sleep 300 &) ; exit 0"));

	CHECK(strstr(pinfold_result_json(result), "\"survivors_killed\": 2") != NULL, "%s", pinfold_result_json(result));
	CHECK(prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0 && subreaper == 0, "the host became a subreaper");
	(void)pinfold_result_free(result);
	end_own_child(own);
	CHECK(client_is_childless());
}

static pinfold_run *start(const char *script)
{
	pinfold_policy *policy = client_policy(POLICY);
	pinfold_command *command = client_shell(script);
	pinfold_run *run = client_start(policy, command);

	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
	return run;
}

static void freeing_ends_the_tree_alone(void)
{
	pid_t own = own_child();
	int before = client_count_fds();
	pinfold_run *run = start("setsid sleep 300 & echo ready; exec sleep 300");
	uint64_t begin = client_now_ms();

	(void)pinfold_run_free(run);
	CHECK(client_now_ms() - begin < 1000, "it took %d ms", (int)(client_now_ms() - begin));
	CHECK(client_count_fds() == before, "%d descriptors were %d", client_count_fds(), before);
	end_own_child(own);
	CHECK(client_is_childless());
}

static void cancelling_ends_the_tree_alone(void)
{
	pid_t own = own_child();
	pinfold_run *run = start("trap '' TERM; setsid sleep 300 & exec sleep 300");
	pinfold_result *result;

	(void)usleep(100000);
	pinfold_run_cancel(run);
	result = client_wait(run);
	CHECK(pinfold_result_status(result) == PINFOLD_CANCELLED, "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	end_own_child(own);
	CHECK(client_is_childless());
}

int main(void)
{
	static const struct test tests[] = {
		{"without a boundary a run is a run", a_run_is_a_run},
		{"without a boundary the host's children stay its own", the_hosts_children_stay_its_own},
		{"without a boundary freeing a run ends its tree alone", freeing_ends_the_tree_alone},
		{"without a boundary cancelling ends the tree alone", cancelling_ends_the_tree_alone},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
