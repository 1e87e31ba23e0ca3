/* Planted trees that have been renamed and are deleted bit by bit. */
#ifndef SUPERVISE_ASIDES_H
#define SUPERVISE_ASIDES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/removal.h"
#include "runtime/plan/plan.h"
#include "runtime/supervise/violations.h"

#define ASIDES_MAX 32

struct aside {
	int dirfd; /* where it is */
	char name[REMOVAL_NAME_SIZE];
	const char *kind, *path; /* of the violation */
	enum removal_result state;
};

struct asides {
	const struct plan *plan; /* borrowed, as the others */
	struct violations *violations;
	struct aside list[ASIDES_MAX];
	size_t n;
};

/* `name` in dirfd is what removal_take_away() made of `path`, which lives as long as the list. Where there is no place
 * to remember it, it stays. */
must_check int asides_add(
	struct asides *asides, int dirfd, const char *name, const char *kind, const char *path, struct error *err);
/* Deletes within the budget and records what is gone. last: also what resisted, which stays. 1 where there is more to
 * do, else 0. */
must_check int asides_delete(struct asides *asides, size_t *budget, bool last, struct error *err);
/* Forgets them. */
void asides_close(struct asides *asides);

#endif
