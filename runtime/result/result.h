/* outcome + plan -> the pinfold.result/1 document, the exit status, and one line for people. */
#ifndef RESULT_RESULT_H
#define RESULT_RESULT_H

#include "base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/outcome.h"

/* malloc'ed. */
must_check int result_json(const struct plan *plan, const struct outcome *outcome, char **ret_json, struct error *err);
/* CONTRACT: the command's own, 128+n, 124, 137, 125, 126, 127. */
int result_exit_status(const struct outcome *outcome);
/* NULL where there is nothing to say ("time limit of 2s reached; the whole tree was killed"); malloc'ed. */
char *result_note(const struct outcome *outcome);
/* The pinfold.error/1 document of an error, malloc'ed; NULL when memory is out. */
char *result_error_json(const struct error *error, const char *const *details, size_t n_details);

#endif
