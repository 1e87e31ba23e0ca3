/* The words of policies and reports: enum <-> text, one table each. */
#ifndef POLICY_VOCABULARY_H
#define POLICY_VOCABULARY_H

#include "runtime/policy/policy.h"

const char *policy_root_name(enum policy_root root);

/* The features that "require" and the report know, NULL-terminated; limits are "limits.NAME". */
extern const char *const policy_feature_names[];
/* The mechanisms a limit or feature may be required to have, NULL-terminated; NULL for an unknown feature. */
const char *const *policy_feature_mechanisms(const char *feature);

#endif
