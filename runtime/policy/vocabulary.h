/* The words of policies and reports: enum <-> text, one table each. */
#ifndef POLICY_VOCABULARY_H
#define POLICY_VOCABULARY_H

#include "runtime/policy/policy.h"

const char *policy_backend_name(enum policy_backend backend);
const char *policy_enforcement_name(enum policy_enforcement enforcement);
const char *policy_root_name(enum policy_root root);
const char *policy_network_name(enum policy_network network);
const char *policy_identity_name(enum policy_identity identity);
const char *policy_memory_strategy_name(enum policy_memory_strategy strategy);
const char *policy_access_name(enum policy_access access);

/* The features that "require" and the report know, NULL-terminated; limits are "limits.NAME". */
extern const char *const policy_feature_names[];
/* The mechanisms a limit or feature may be required to have, NULL-terminated; NULL for an unknown feature. */
const char *const *policy_feature_mechanisms(const char *feature);

#endif
