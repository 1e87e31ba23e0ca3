/* The pipeline: policy -> plan, with as much probing as the policy needs. check, run and dry-run are this, stopped at
 * different points. */
#ifndef RUNTIME_RUN_H
#define RUNTIME_RUN_H

#include "base/diag.h"
#include "base/error.h"
#include "runtime/host/host.h"
#include "runtime/plan/plan.h"
#include "runtime/policy/document.h"

/* What check shows: everything is probed first. */
must_check int run_plan_checked(struct policy_document *document, struct host *host, const struct command *command,
	struct plan **ret_plan, struct diag *diag, struct error *err);
/* What run does: only what decides between mechanisms is probed; the launch itself tries the rest. In best-effort,
 * where a lack changes the plan, everything is. */
must_check int run_plan(struct policy_document *document, struct host *host, const struct command *command,
	struct plan **ret_plan, struct diag *diag, struct error *err);
#endif
