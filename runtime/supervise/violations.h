/* What was done against the boundary and undone again: each path once, a bounded number of them. */
#ifndef SUPERVISE_VIOLATIONS_H
#define SUPERVISE_VIOLATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/supervise/outcome.h"

#define VIOLATIONS_MAX 1000

struct violations {
	struct arena *arena; /* borrowed */
	struct outcome_violation *list;
	size_t n;
	/* told of each that is new */
	int (*added)(void *userdata, const struct outcome_violation *violation, struct error *err);
	void *userdata;
};

/* kind and action are literals, path is copied. One that is known already, or is one too many, is not added. */
must_check int violations_add(
	struct violations *violations, const char *kind, const char *path, const char *action, struct error *err);

#endif
