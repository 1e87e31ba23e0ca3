/* What stands at the host's paths, each asked for once in a plan. Internal to runtime/plan. */
#ifndef PLAN_LOOK_H
#define PLAN_LOOK_H

#include <sys/stat.h>

#include "base/arena.h"

#define LOOK_SLOTS 128
#define LOOKS_MAX  512 /* a policy may match very many paths: those beyond are asked for each time */

struct looks {
	struct look *slots[LOOK_SLOTS];
	size_t n;
};

/* As lstat(2) and stat(2). What changed since the first call is not seen: not for what is decided about names that
 * others plant meanwhile (rules_is_there). */
int look_lstat(struct looks *looks, struct arena *arena, const char *path, struct stat *ret_st);
int look_stat(struct looks *looks, struct arena *arena, const char *path, struct stat *ret_st);

#endif
