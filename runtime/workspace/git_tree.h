/* Judging a tree of git by `git ls-tree -r -l -z` before any of its files is written. */
#ifndef WORKSPACE_GIT_TREE_H
#define WORKSPACE_GIT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct git_tree {
	uint64_t files_max, bytes_max;
	uint64_t files, bytes; /* so far */
	/* insides */
	char record[4096 + 256];
	size_t record_size;
};

/* To be given all that ls-tree prints, in pieces of any size; the struct begins zeroed but for the limits. -1 with
 * ERROR_LIMIT naming the file, or ERROR_GIT_CLONE. */
must_check int git_tree_hear(void *tree, const void *data, size_t size, struct error *err);
/* Afterwards: that nothing is missing at the end. */
must_check int git_tree_end(const struct git_tree *tree, struct error *err);

#endif
