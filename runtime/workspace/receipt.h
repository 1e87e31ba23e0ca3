/* What was made, for programs: the pinfold.receipt/1 document. */
#ifndef WORKSPACE_RECEIPT_H
#define WORKSPACE_RECEIPT_H

#include "runtime/workspace/materialize.h"

/* malloc'ed. No value of a variable is in it. */
must_check int receipt_json(const struct manifest *manifest, const struct receipt *receipt, const char *destination,
	char **ret_json, struct error *err);

#endif
