/*
 * Syscall filters: a table of decisions a syscall number -> classic BPF for seccomp(2). Built-in profiles are compiled
 * when pinfold is built and embedded; others are compiled by the same code at plan time. Native architecture only,
 * every other one is killed.
 */
#ifndef SECCOMP_FILTER_H
#define SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/error.h"

struct filter {
	const struct sock_filter *instructions;
	size_t n;
	bool user_namespaces; /* it lets the command make some, asked as nested namespaces or not */
	bool forbids_start;   /* it allows execve in no case, so that the command itself cannot be started */
};

/* What is asked of a filter beyond its profile. */
struct filter_request {
	const char *profile;      /* ":default", ":strict", or a file in the OCI/moby format */
	const char *const *allow; /* names added to the allowed ones; pinfold's own refusals hold on top */
	size_t n_allow;
	const char *const *deny; /* names that get deny_errno */
	size_t n_deny;
	int deny_errno;         /* default EPERM */
	bool nested_namespaces; /* clone/unshare/setns/mount family allowed, set-id refusals stay */
};

/* A ready filter in `arena` (or static storage): embedded bytes where the request is a plain built-in, else compiled.
 * Unknown syscall names are ERROR_POLICY_INVALID for allow and deny (with "did you mean"), and warnings in `diag` for
 * names in a profile file. */
must_check int filter_make(const struct filter_request *request, struct arena *arena, struct filter *ret_filter,
	struct diag *diag, struct error *err);
/* NULL-terminated names of the built-in profiles. */
extern const char *const filter_profile_names[];
/* True where some kernel support for filters is there: tried with an invalid pointer, changes nothing. */
bool filter_probe(int *ret_errno);

#endif
