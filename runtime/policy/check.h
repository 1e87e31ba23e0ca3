/* The mistakes that no single field shows, and what is allowed but worth saying. */
#ifndef POLICY_CHECK_H
#define POLICY_CHECK_H

#include "base/diag.h"
#include "runtime/policy/settings.h"

/* Everything found is in diag. -1 only where memory is out. */
must_check int policy_check(const struct policy_settings *settings, struct diag *diag, struct error *err);

#endif
