/* A shell script under the supervisor, with the fake launch. */
#ifndef TESTS_UNIT_SUPERVISED_RUN_H
#define TESTS_UNIT_SUPERVISED_RUN_H

#include <stdint.h>

#include "runtime/supervise/supervisor.h"

struct run {
	char *argv[4];
	struct plan plan; /* to be adapted between prepare and start */
	struct supervisor *supervisor;
	const struct outcome *outcome;
	uint64_t took_ns;
};

/* No limit but 30 s, both streams captured up to 1 MiB. A `script` that begins with '@' is a fault of fake_launch.h. */
void run_prepare(struct run *run, const char *script);
void run_start(struct run *run);
/* Dispatches until it is over; fills outcome and took_ns. */
void run_wait(struct run *run);
void run_go(struct run *run); /* start and wait */
void run_drop(struct run *run);

void run_expect_stream(const struct outcome_stream *stream, const char *text);
void run_expect_exit(const struct outcome *outcome, int code);

#endif
