/* The few texts of git that say where a checkout's data is, read without trust. Pure. Internal to runtime/plan. */
#ifndef PLAN_GIT_TEXT_H
#define PLAN_GIT_TEXT_H

#include <stddef.h>

#include "base/arena.h"

#define GIT_PATH_FILE_MAX 4200       /* a path and "gitdir: " */
#define GIT_CONFIG_MAX    (1u << 20) /* of a configuration */

/* All return strings of the arena; NULL where the text does not say it, says it in an unusual way, or memory is out. */

/* The path that a `.git` file names ("gitdir: PATH"), as it is written. */
const char *git_text_git_file(struct arena *arena, const char *text, size_t size);
/* The path that a file `gitdir` or `commondir` holds, as it is written. */
const char *git_text_path(struct arena *arena, const char *text, size_t size);
/* core.worktree of a configuration; NULL where it is set twice, too, or where anything in the text is out of order. */
const char *git_text_worktree(struct arena *arena, const char *text, size_t size);
/* `path` as an absolute one: a relative one begins at `base`. Without a look at the file tree, and so only where ".."
 * stands nowhere but at the beginning of a relative path. */
const char *git_text_resolve(struct arena *arena, const char *base, const char *path);

#endif
