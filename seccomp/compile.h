/* Decisions -> instructions of classic BPF. */
#ifndef SECCOMP_COMPILE_H
#define SECCOMP_COMPILE_H

#include "seccomp/filter_plan.h"

/* ERROR_LIMIT where the kernel's bound of 4096 instructions is passed. The instructions live in `arena`. */
must_check int filter_compile(
	const struct filter_plan *plan, struct arena *arena, struct filter *ret_filter, struct error *err);

#endif
