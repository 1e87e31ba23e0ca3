/* The public host, check and dry-run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/api/objects.h"
#include "runtime/run.h"

const char *pinfold_version(void)
{
	return PINFOLD_VERSION;
}

int pinfold_host_new(pinfold_host **ret_host, pinfold_error **err)
{
	struct error error = {0};
	pinfold_host *host = calloc(1, sizeof *host);

	if (host == NULL || pthread_mutex_init(&host->lock, NULL) != 0) {
		free(host);
		(void)error_no_memory(&error);
		return api_fail(err, "host", &error, NULL);
	}
	if (host_init(&host->host, &error) < 0) {
		(void)pinfold_host_free(host);
		return api_fail(err, "host", &error, NULL);
	}
	*ret_host = host;
	return 0;
}

pinfold_host *pinfold_host_free(pinfold_host *host)
{
	if (host == NULL)
		return NULL;
	host_done(&host->host);
	(void)pthread_mutex_destroy(&host->lock);
	free(host->workspace);
	free(host);
	return NULL;
}

/* Whether a mount can be id-mapped depends on the workspace's file system: it is asked anew for another workspace. */
static int forget_workspace(pinfold_host *host, const char *workspace, struct error *err)
{
	char *copy;

	/* What is relative to the current directory may be another place each time. */
	if (workspace != NULL && workspace[0] == '/' && str_equal(host->workspace, workspace))
		return 0;
	copy = workspace == NULL ? NULL : strdup(workspace);
	if (workspace != NULL && copy == NULL)
		return error_no_memory(err);
	free(host->workspace);
	host->workspace = copy;
	host->host.facts[FACT_IDMAPPED_MOUNT] = (struct fact){0};
	return 0;
}

int api_plan(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, bool checked,
	struct steps *steps, struct plan **ret_plan, struct diag *diag, struct error *err)
{
	char *no_argv[] = {NULL};
	const struct command nothing = {
		.argv = no_argv, .environment = environ, .out_fd = -1, .err_fd = -1, .stdin_fd = -1};
	struct command asked = command != NULL ? command->command : nothing;
	int r = -1;

	asked.steps = steps;
	(void)pthread_mutex_lock(&host->lock);
	if (forget_workspace(host, asked.workspace, err) == 0) {
		r = checked ? run_plan_checked(policy->document, &host->host, &asked, ret_plan, diag, err)
			    : run_plan(policy->document, &host->host, &asked, ret_plan, diag, err);
	}
	(void)pthread_mutex_unlock(&host->lock);
	return r;
}

int pinfold_check(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command,
	pinfold_report **ret_report, pinfold_error **err)
{
	cleanup_with(plan_freep) struct plan *plan = NULL;
	cleanup_diag struct diag diag = {0};
	struct error error = {0};
	pinfold_report *report;

	if (api_plan(host, policy, command, true, NULL, &plan, &diag, &error) < 0)
		return api_fail(err, "check", &error, &diag);
	report = calloc(1, sizeof *report);
	if (report == NULL) {
		(void)error_no_memory(&error);
		return api_fail(err, "check", &error, NULL);
	}
	report->plan = steal_ptr(&plan);
	*ret_report = report;
	return 0;
}

enum pinfold_verdict pinfold_report_verdict(const pinfold_report *report)
{
	switch (enforcement_verdict(&report->plan->enforcement)) {
	case ROW_OFF:
	case ROW_ENFORCED: return PINFOLD_ENFORCED;
	case ROW_DEGRADED: return PINFOLD_DEGRADED;
	case ROW_UNENFORCEABLE:
	case _ROW_STATE_COUNT: break;
	}
	return PINFOLD_UNENFORCEABLE;
}

const char *pinfold_report_json(pinfold_report *report)
{
	cleanup_json json_t *json = NULL;
	struct error error = {0};

	if (report->json == NULL && enforcement_json(&report->plan->enforcement, &json, &error) == 0)
		report->json = json_to_string(json, 1);
	return report->json;
}

const char *pinfold_report_text(pinfold_report *report, int color)
{
	struct error error = {0};
	char *text = NULL;

	if (enforcement_text(&report->plan->enforcement, color != 0, &text, &error) < 0)
		return NULL;
	free(report->text);
	report->text = text;
	return text;
}

pinfold_report *pinfold_report_free(pinfold_report *report)
{
	if (report == NULL)
		return NULL;
	(void)plan_free(report->plan);
	free(report->json);
	free(report->text);
	free(report);
	return NULL;
}

int pinfold_plan_json(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, char **ret_json,
	pinfold_error **err)
{
	cleanup_with(plan_freep) struct plan *plan = NULL;
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (api_plan(host, policy, command, false, NULL, &plan, &diag, &error) < 0 ||
		plan_json(plan, ret_json, &error) < 0)
		return api_fail(err, "plan", &error, &diag);
	return 0;
}

void pinfold_string_free(char *string)
{
	free(string);
}
