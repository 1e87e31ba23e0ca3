/* The settings that no built-in said. */
#ifndef POLICY_SETTINGS_OWN_H
#define POLICY_SETTINGS_OWN_H

#include "runtime/policy/document.h"
#include "runtime/policy/settings.h"

/* See policy_document_own. */
must_check int policy_settings_own(
	const struct policy_settings *settings, struct arena *arena, struct policy_own *ret_own, struct error *err);

#endif
