/*
 * Building beside the destination: everything new is made in a private directory of the workspace, then put into its
 * place by renaming, and taken out again where anything fails.
 */
#ifndef WORKSPACE_STAGE_H
#define WORKSPACE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/workspace/private_dir.h"

#define STAGE_PREFIX ".pinfold-staging-"

struct stage_step;

struct stage {
	int root_fd; /* the workspace; borrowed */
	int fd;      /* the private directory, -1: none; what is built is made here, by names of the caller's */
	char name[PRIVATE_DIR_NAME_SIZE];
	struct arena *arena;
	struct stage_step *steps; /* what was done to the workspace, to be undone */
	size_t n_steps;
	size_t n_widened; /* directories whose owner could not change them, and can until stage_settle */
};
#define STAGE_INIT                      \
	{                               \
		.root_fd = -1, .fd = -1 \
	}

must_check int stage_open(struct stage *stage, int root_fd, struct error *err);

enum stage_found {
	STAGE_ABSENT,    /* nothing is there */
	STAGE_FILE,      /* a regular file */
	STAGE_DIRECTORY, /* one that can be gone into */
	STAGE_ABOVE      /* a directory above it is not there either */
};
/* What is at `path` of the workspace. A symlink on the way or there, and what is neither file nor directory, is
 * ERROR_INVALID_MANIFEST_PATH with the reason in the context. */
must_check int stage_look(const struct stage *stage, const char *path, enum stage_found *ret_found, struct error *err);

/* Before anything is put: should this process be killed from now on, what was replaced stays, in `.pinfold-undo-...`. */
must_check int stage_begin(struct stage *stage, struct error *err);
/* Puts what was built as `name` at `path`, making the directories above where they lack. A file replaces a file. A
 * directory goes into one that is there, name by name; anew: it takes the place of whatever file or directory is there. */
must_check int stage_put(
	struct stage *stage, const char *name, const char *path, bool directory, bool anew, struct error *err);
/* Sets the permission bits of a directory of the workspace. */
must_check int stage_set_mode(struct stage *stage, const char *path, mode_t mode, struct error *err);

/* As it was, for one that was widened. */
must_check int stage_get_mode(const struct stage *stage, const char *path, mode_t *ret_mode, struct error *err);
/* Gives directories that were widened their modes back. The last thing before stage_close. */
must_check int stage_settle(const struct stage *stage, struct error *err);

/* Takes back whatever was put, last first. -1: something could not be, and err says what; the rest was. */
must_check int stage_undo(struct stage *stage, struct error *err);
/* Removes the private directory with all that is left in it. */
must_check int stage_close(struct stage *stage, struct error *err);

#endif
