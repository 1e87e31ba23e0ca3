/* The name that reports give to a policy. */
#ifndef POLICY_DIGEST_H
#define POLICY_DIGEST_H

#include "base/error.h"
#include "runtime/policy/policy.h"

#define POLICY_DIGEST_SIZE 72 /* with the NUL */

/* "sha256:" and the digest of the canonical document. */
must_check int policy_digest(const struct policy_text *text, char ret_digest[POLICY_DIGEST_SIZE], struct error *err);

#endif
