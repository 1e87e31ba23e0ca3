/* How far long work is, on one line of a terminal that is written over; silent where stderr is none. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/cli/settings.h"

struct progress {
	bool wanted;
	bool shown;       /* there is a line to be taken away */
	uint64_t next_ns; /* CLOCK_MONOTONIC: not before */
};

void cli_progress_begin(struct progress *progress, const struct settings *settings);
/* A pinfold_progress_fn; userdata: the struct progress. */
void cli_progress_tell(void *userdata, uint64_t files, uint64_t bytes);
/* Takes the line away. */
void cli_progress_end(struct progress *progress);

#endif
