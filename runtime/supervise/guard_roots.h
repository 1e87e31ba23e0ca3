/* The directories below which names are guarded, and the word to other runs that they are. Internal to the guard. */
#ifndef SUPERVISE_GUARD_ROOTS_H
#define SUPERVISE_GUARD_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/plan/plan.h"

struct guard_root;

struct guard_roots {
	struct guard_root *list; /* each directory once */
	size_t n;
	size_t *of; /* for each guard of the plan: its place in the list */
};

/* roots is zeroed. On failure, too, it is to be closed. */
must_check int guard_roots_open(struct guard_roots *roots, const struct plan *plan, struct error *err);
/* O_PATH; the list's. */
int guard_roots_fd(const struct guard_roots *roots, size_t guard);
/* True once for each directory after each begin: most guarded names lie in one and the same. */
void guard_roots_begin(struct guard_roots *roots);
bool guard_roots_is_new(struct guard_roots *roots, size_t guard);
/* Tells other runs that all the absent names are kept absent here. Not every file system can. */
void guard_roots_claim(const struct guard_roots *roots, const struct plan *plan);
/* Whether another run keeps that name absent. */
bool guard_roots_is_claimed(const struct guard_roots *roots, const struct plan *plan, size_t guard);
void guard_roots_close(struct guard_roots *roots);

#endif
