/* What runtime/workspace runs programs with: the pipeline of pinfold_run_start, under a policy that is shipped. */
#ifndef API_RUNNER_H
#define API_RUNNER_H

#include "include/pinfold.h"
#include "runtime/workspace/runner.h"

/* The host is borrowed. Several threads may use one runner at once. */
struct runner api_runner(pinfold_host *host);

#endif
