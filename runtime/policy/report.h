/* The resolved policy with the origin of each value, for machines and for people. */
#ifndef POLICY_REPORT_H
#define POLICY_REPORT_H

#include "base/error.h"
#include "runtime/policy/settings.h"

/* malloc'ed. `policy` is what the settings resolve to. */
must_check int policy_report_json(
	const struct policy_settings *settings, const struct policy *policy, char **ret_json, struct error *err);
must_check int policy_report_text(
	const struct policy_settings *settings, const struct policy *policy, char **ret_text, struct error *err);

#endif
