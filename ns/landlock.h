/*
 * Landlock: rights that a process takes from itself and from all it will ever start. Data for the plan, and what makes
 * a ruleset of it; taking the rights is one system call more, made by the command's process itself.
 */
#ifndef NS_LANDLOCK_H
#define NS_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What an ABI can hold back, and what gives it back; masks of the kernel's bits. */
struct landlock_abilities {
	uint64_t files;    /* rights to change files */
	uint64_t tree;     /* of them, what makes a directory writable, with all below it; no device nodes */
	uint64_t content;  /* of them, what lets a file or device be opened for writing */
	uint64_t truncate; /* of them, cutting a file short by its path */
	uint64_t tcp;      /* binding and connecting TCP sockets */
	uint64_t scopes;   /* signals and connections to abstract UNIX sockets beyond those who share the fence */
};

struct landlock_rule {
	const char *path; /* inside, free of symlinks; all below it */
	uint64_t access;  /* given back; of a file only what a file can have */
	bool optional;    /* may be gone since the plan */
};

/* All zero: no fence. */
struct landlock_plan {
	uint64_t files, tcp, scopes; /* held back */
	struct landlock_rule *rules;
	size_t n_rules;
	uint64_t stream_access; /* given back for what the command's streams lead to */
};

struct landlock_abilities landlock_abilities(unsigned abi);
static inline bool landlock_is_asked(const struct landlock_plan *plan)
{
	return (plan->files | plan->tcp | plan->scopes) != 0;
}
/* In the child, when its mounts stand: *ret_fd is a close-on-exec ruleset, or -1 where the plan has no fence. Of
 * `streams` those that are open for writing, and can be opened anew by a path, stay writable. Async-signal-safe. */
must_check int landlock_make(
	const struct landlock_plan *plan, const int *streams, size_t n_streams, int *ret_fd, struct error *err);

#endif
