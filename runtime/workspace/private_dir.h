/* A directory beside what is being built, for what has no name there yet. */
#ifndef WORKSPACE_PRIVATE_DIR_H
#define WORKSPACE_PRIVATE_DIR_H

#include "base/error.h"

#define PRIVATE_DIR_NAME_SIZE 48

/* Makes a directory of mode 0700 in parent_fd (O_PATH will do), named by the prefix and random digits, and returns it,
 * open; its maker is known to live as long as that descriptor does. What dead makers left there under the same prefix
 * goes first. The caller removes it (tree_remove) before it closes the descriptor. */
must_check int private_dir_make(
	int parent_fd, const char *prefix, char ret_name[PRIVATE_DIR_NAME_SIZE], struct error *err);
/* From now on it holds what is not ours alone: it gets a name (in place) under which nobody sweeps it away. */
#define PRIVATE_DIR_KEPT_PREFIX ".pinfold-undo-"
must_check int private_dir_keep(int parent_fd, char name[PRIVATE_DIR_NAME_SIZE], struct error *err);

#endif
