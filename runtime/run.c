/*
 * policy -> host -> plan -> supervisor. The report of check and the enforcement of a run come from the same plan_new(),
 * so they cannot disagree; they differ in how much was tried beforehand. A run takes an untried fact for true, because
 * the launch does the very thing: where it fails, the launch fails with the reason, and nothing has been started.
 */
#include "runtime/run.h"

#include <stdbool.h>

#include "base/steps.h"

static int probe_little(struct host *host, const struct host_wants *wants, struct steps *steps, struct error *err)
{
	if (host_probe_cgroup(host, wants, err) < 0)
		return -1;
	steps_mark(steps, STEP_CGROUP_FOUND);
	return host_probe_landlock(host, err);
}

static int plan_with(struct policy_document *document, struct host *host, const struct command *command, bool probe_all,
	struct plan **ret_plan, struct diag *diag, struct error *err)
{
	const struct policy *policy = NULL;
	struct host_wants wants;
	int r;

	if (policy_document_resolve(document, &policy, diag, err) < 0)
		return -1;
	wants = plan_wants(policy, host);
	probe_all = probe_all || policy->enforcement == ENFORCEMENT_BEST_EFFORT;
	/* Without a boundary it is init that puts the command into its cgroup: too late to plan anew. */
	wants.untried = !probe_all && policy->backend != BACKEND_NONE;
	if (probe_all)
		r = host_probe(host, command->workspace != NULL ? command->workspace : ".", &wants, err);
	else
		r = probe_little(host, &wants, command->steps, err);
	steps_mark(command->steps, STEP_LANDLOCK_ASKED);
	if (r < 0)
		return -1;
	return plan_new(policy, host, command, ret_plan, diag, err);
}

int run_plan_checked(struct policy_document *document, struct host *host, const struct command *command,
	struct plan **ret_plan, struct diag *diag, struct error *err)
{
	return plan_with(document, host, command, true, ret_plan, diag, err);
}

int run_plan(struct policy_document *document, struct host *host, const struct command *command, struct plan **ret_plan,
	struct diag *diag, struct error *err)
{
	return plan_with(document, host, command, false, ret_plan, diag, err);
}
