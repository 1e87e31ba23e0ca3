/* Why a command could not be executed, in words. */
#ifndef SUPERVISE_EXEC_FAILURE_H
#define SUPERVISE_EXEC_FAILURE_H

#include "base/error.h"
#include "runtime/launch/init_message.h"

/* program: argv[0] as the caller wrote it. Writes ERROR_NOT_FOUND or ERROR_PERMISSION_DENIED for a program that cannot
 * be executed, another code where a step before that failed. */
void exec_failure_explain(const struct init_event *event, const char *program, struct error *ret_error);

#endif
