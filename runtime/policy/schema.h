/* The policy language as a JSON Schema (draft 2020-12), for editors and other programs that write policies. */
#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include "base/error.h"

/* malloc'ed. syscalls: the names that seccomp.allow and seccomp.deny take, NULL-terminated; they are known elsewhere. */
must_check int policy_schema_json(const char *const *syscalls, char **ret_json, struct error *err);

#endif
