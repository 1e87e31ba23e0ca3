/* The merged settings as one whole policy document. */
#ifndef POLICY_SETTINGS_JSON_H
#define POLICY_SETTINGS_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "runtime/policy/settings.h"

/* Every field with its value, as a policy file could have it. NULL when memory is out. */
json_t *policy_settings_json(const struct policy_settings *settings);
/* The object in which the last part of a dotted name belongs, made on the way; borrowed. */
json_t *policy_settings_parent(json_t *root, const char *name, const char **ret_last);
/* Appends the same, compact and with sorted keys: exactly what json_to_canonical gives of it, but that the shipped
 * table of secrets is left out, which begins at *ret_secrets_at bytes from the start of the buffer. */
must_check int policy_settings_canonical(
	const struct policy_settings *settings, struct buf *buf, size_t *ret_secrets_at, struct error *err);

#endif
