/* Between stage.c and stage_undo.c: what was done to a workspace. */
#ifndef WORKSPACE_STAGE_STEP_H
#define WORKSPACE_STAGE_STEP_H

#include "runtime/workspace/stage.h"

enum stage_step_kind {
	STEP_PLACED,    /* from the stage to the workspace, where nothing was */
	STEP_EXCHANGED, /* with what was there */
	STEP_MADE,      /* a directory of the workspace */
	STEP_MODE,      /* a directory's mode */
	STEP_WIDENED,   /* a directory's mode, until all is in its place */
};

struct stage_step {
	enum stage_step_kind kind;
	const char *path;   /* in the workspace */
	const char *staged; /* in the stage */
	mode_t mode;        /* as it was */
};

/* Before the step is taken. */
must_check int stage_note(struct stage *stage, enum stage_step_kind kind, const char *path, const char *staged,
	mode_t mode, struct error *err);
/* "PATH: cannot WHAT" with the kernel's word; both return -1. */
int stage_fail(int sys_errno, const char *what, const char *path, struct error *err);
/* The same, but what a symlink or a file on the way means is a refusal. */
int stage_refuse_by_errno(int sys_errno, const char *what, const char *path, struct error *err);

#endif
