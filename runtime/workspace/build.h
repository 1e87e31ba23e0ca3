/* Building the content of one entry in the private directory. */
#ifndef WORKSPACE_BUILD_H
#define WORKSPACE_BUILD_H

#include "runtime/workspace/materialize.h"

struct build {
	const struct materialize_options *options;
	int stage_fd;
	const char *stage_name;      /* in the workspace: never copied, should a source hold the workspace */
	enum receipt_reader *reader; /* where build_entry notes which uid a program had */
};

/* Makes `name` in the private directory. A directory keeps all the owner's rights until it is in its place. */
must_check int build_entry(const struct build *build, const struct manifest_entry *entry, const char *name,
	struct receipt_row *row, struct error *err);
/* What of that needs nothing to be made: whether the source is there and may be taken. */
must_check int build_try(
	const struct materialize_options *options, const struct manifest_entry *entry, struct error *err);

#endif
