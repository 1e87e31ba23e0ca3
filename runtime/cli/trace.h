/* `run --trace-setup`: where the time of the launch went. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <stdint.h>

#include "include/pinfold.h"

/* On stderr: each step with the time since the program began, at begin_ns of CLOCK_MONOTONIC, and since the step before. */
void cli_trace_tell(const pinfold_run *run, uint64_t begin_ns);

#endif
