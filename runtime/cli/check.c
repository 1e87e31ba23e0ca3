/*
 * pinfold check: what this machine would enforce, and by which mechanism. It makes the very objects that run makes from
 * the same flags and stops before the launch, so the two cannot disagree. The command itself does not matter for that.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/request.h"

static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no_color != NULL && *no_color != '\0')
		return false;
	return isatty(STDOUT_FILENO) && term != NULL && !str_equal(term, "dumb");
}

static int print_text(const struct settings *settings, pinfold_report *report)
{
	const char *text = pinfold_report_text(report, wants_color());
	struct error err;

	if (text == NULL) {
		error_no_memory(&err);
		return cli_fail(settings, &err);
	}
	return cli_print(settings, text);
}

int cli_check(const struct settings *settings)
{
	static const char *const nothing[] = {"true", NULL};
	cleanup_request struct request request = REQUEST_INIT;
	cleanup_with(pinfold_report_freep) pinfold_report *report = NULL;
	pinfold_error *error = NULL;
	int status = cli_request_make(settings, nothing, false, &request);

	if (status != CLI_DONE)
		return status;
	if (pinfold_check(request.host, request.policy, request.command, &report, &error) < 0)
		return cli_fail_take(settings, error);
	if (settings->json)
		status = cli_print_document(settings, pinfold_report_json(report));
	else
		status = print_text(settings, report);
	if (status != CLI_DONE)
		return status;
	return pinfold_report_verdict(report) == PINFOLD_UNENFORCEABLE ? CLI_NEGATIVE : CLI_DONE;
}
