/* From merged settings to the policy that the plan reads. */
#ifndef POLICY_RESOLVE_H
#define POLICY_RESOLVE_H

#include "base/diag.h"
#include "runtime/policy/settings.h"

/* Checks, then builds; `arena` holds the policy, whose texts stay in the settings'. */
must_check int policy_resolve(const struct policy_settings *settings, const char *name, struct arena *arena,
	const struct policy **ret_policy, struct diag *diag, struct error *err);

#endif
