/* What holds for every plan: it is never weaker than its policy without a row that says so. */
#ifndef TESTS_UNIT_PLAN_CLAIMS_H
#define TESTS_UNIT_PLAN_CLAIMS_H

#include <stdbool.h>

#include "tests/unit/world.h"

/* Plans the policy, one of policy_maker.h's, on the host, and fails the test where something asked is neither carried
 * out nor told. False where the policy cannot be planned, which must be its own fault. */
bool plan_claims_check(const struct world *world, const struct host *host, const char *policy);

#endif
