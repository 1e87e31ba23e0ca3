/* Settings -> the library's objects. The functions return 0, or the exit status after the failure was told. */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include "base/cleanup.h"
#include "include/pinfold.h"
#include "runtime/cli/settings.h"

CLEANUP_DEFINE(pinfold_host, pinfold_host_free)
CLEANUP_DEFINE(pinfold_policy, pinfold_policy_free)
CLEANUP_DEFINE(pinfold_command, pinfold_command_free)
CLEANUP_DEFINE(pinfold_report, pinfold_report_free)
CLEANUP_DEFINE(pinfold_run, pinfold_run_free)
CLEANUP_DEFINE(pinfold_result, pinfold_result_free)

struct request {
	pinfold_host *host;
	pinfold_policy *policy;
	pinfold_command *command;
	int stdin_fd; /* of --stdin FILE; -1: none */
};
#define REQUEST_INIT           \
	{                      \
		.stdin_fd = -1 \
	}
#define cleanup_request __attribute__((cleanup(cli_request_done)))

/* The policy with the flags applied; `name` beats --policy; NULL: as the flags say, or the default. */
must_check int cli_request_policy(const struct settings *settings, const char *name, pinfold_policy **ret_policy);
/* The words to execute: the command, or a shell with the text of -c and the words as its $0, $1, ... */
must_check int cli_request_words(const struct settings *settings, const char *const **ret_words);
/* All three. words: the command, not empty; opens --stdin FILE only where the command is to be started. */
must_check int cli_request_make(
	const struct settings *settings, const char *const *words, bool starts, struct request *request);
void cli_request_done(struct request *request);

#endif
