/* Runs a program of the machine (busctl, git) to its end, without a shell. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define PROGRAM_OUTPUT_MAX 65536

struct program {
	const char *path;        /* absolute */
	const char *const *argv; /* NULL-terminated; argv[0] is the program's name */
	const char *const *environment;
	uint64_t timeout_ns;
};

/* The program has /dev/null as stdin, no other descriptor of ours, default signals and a session of its own; what it
 * writes to stdout and stderr together is kept in `ret_output` up to PROGRAM_OUTPUT_MAX bytes. Returns its exit status,
 * or 128+n where a signal ended it. Errors: ERROR_NOT_FOUND (no such program, or not executable), ERROR_LIMIT
 * (time-out: it is killed). A caller that waits for any child may be first to reap it; then the status is taken for 0.
 * Safe in a threaded process. */
must_check int program_run(const struct program *program, struct buf *ret_output, struct error *err);

#endif
