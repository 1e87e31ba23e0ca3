/* Why a command could not be executed, in words. */
#ifndef SUPERVISE_EXEC_FAILURE_H
#define SUPERVISE_EXEC_FAILURE_H

#include "base/error.h"
#include "runtime/launch/init_message.h"

/* program: argv[0] as the caller wrote it. Writes ERROR_NOT_FOUND, ERROR_PERMISSION_DENIED or ERROR_LIMIT (too many
 * arguments) for a program that cannot be executed and for a directory that cannot be entered, another code where a step before that failed. */
void exec_failure_explain(const struct init_event *event, const char *program, struct error *ret_error);

#endif
