/*
 * The steps of parent and child in one table, by time: while the child builds, the parent waits, so that the two seldom
 * mix; where they do (ids and sources are the parent's part), a step shows the time since whatever came before it.
 */
#include "runtime/cli/trace.h"

#include <stdio.h>

#include "base/monotime.h"

#define NS_PER_US 1000

static void tell_step(const char *name, uint64_t at_ns, uint64_t begin_ns, uint64_t *before_ns)
{
	(void)fprintf(stderr, "%9llu %9llu  %s\n", (unsigned long long)((at_ns - begin_ns) / NS_PER_US),
		(unsigned long long)((at_ns - *before_ns) / NS_PER_US), name);
	*before_ns = at_ns;
}

void cli_trace_tell(const pinfold_run *run, uint64_t begin_ns)
{
	uint64_t before_ns = begin_ns;
	uint64_t ns = begin_ns;
	const char *name;

	(void)fprintf(stderr, "%9s %9s  step (microseconds: since the start of the program, and of this step)\n", "at",
		"took");
	for (size_t i = 0; (name = pinfold_run_step(run, i, &ns)) != NULL; i++)
		tell_step(i == 0 ? "options and policy read" : name, ns, begin_ns, &before_ns);
	tell_step("result told", monotime_ns(), begin_ns, &before_ns);
}
