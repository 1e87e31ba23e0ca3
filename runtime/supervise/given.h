/* The caller's descriptors that the command has as its streams: they are left as they were found. */
#ifndef SUPERVISE_GIVEN_H
#define SUPERVISE_GIVEN_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/plan/plan.h"

#define GIVEN_MAX 3

struct given_stream {
	int fd; /* the caller's */
	int flags;
	dev_t device;
	ino_t inode;
};

struct given {
	struct given_stream list[GIVEN_MAX];
	size_t n;
};

/* To be called before the command can run. */
void given_remember(struct given *given, const struct plan *plan);
/* To be called when it is dead; once more is no harm. */
void given_restore(struct given *given);

#endif
