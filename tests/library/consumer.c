#include <pinfold.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	pinfold_host *host = NULL;
	pinfold_policy *policy = NULL;
	pinfold_command *command = NULL;
	pinfold_run *run = NULL;
	pinfold_result *result = NULL;
	pinfold_error *err = NULL;

	if (argc < 2 || pinfold_host_new(&host, &err) < 0 || pinfold_policy_load(":read-only", &policy, &err) < 0 ||
		pinfold_command_new((const char *const *)argv + 1, &command, &err) < 0 ||
		pinfold_run_start(host, policy, command, &run, &err) < 0 || pinfold_run_wait(run, &result, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err != NULL ? pinfold_error_message(err) : "usage: consumer CMD...");
		return 125;
	}
	(void)puts(pinfold_result_json(result));
	return pinfold_result_exit_status(result);
}
