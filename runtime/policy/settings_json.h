/* The merged settings as one whole policy document. */
#ifndef POLICY_SETTINGS_JSON_H
#define POLICY_SETTINGS_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "runtime/policy/settings.h"

/* Every field with its value, as a policy file could have it. NULL when memory is out. */
json_t *policy_settings_json(const struct policy_settings *settings);
/* Appends the same, compact and with sorted keys: exactly what json_to_canonical gives of it. */
must_check int policy_settings_canonical(const struct policy_settings *settings, struct buf *buf, struct error *err);

#endif
