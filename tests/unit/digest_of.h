/* The digest of a policy, for comparing a few at a time. */
#ifndef TESTS_UNIT_DIGEST_OF_H
#define TESTS_UNIT_DIGEST_OF_H

#include "runtime/policy/digest.h"
#include "tests/unit/harness.h"

static inline const char *digest_of(const struct policy *policy)
{
	static char digests[4][POLICY_DIGEST_SIZE];
	static unsigned turn;
	char *digest = digests[turn++ % 4];
	struct error err = {0};

	harness_ok(policy_digest(&policy->text, digest, &err), &err);
	return digest;
}

#endif
