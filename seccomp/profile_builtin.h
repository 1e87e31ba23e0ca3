/* The profiles that pinfold brings along, by name. */
#ifndef SECCOMP_PROFILE_BUILTIN_H
#define SECCOMP_PROFILE_BUILTIN_H

#include "seccomp/filter_plan.h"

/* Fills the whole of `plan`; ERROR_POLICY_INVALID where there is no profile of this name. */
must_check int profile_builtin_read(
	const char *profile, struct filter_plan *plan, struct arena *arena, struct error *err);

#endif
