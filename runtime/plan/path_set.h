/* Paths, each once. */
#ifndef PLAN_PATH_SET_H
#define PLAN_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Zeroed: empty. */
struct path_set {
	size_t size, n;
	const char **slots;
};

size_t path_hash(const char *path, size_t length);
/* True where it was not in the set. path is not copied. Where memory is out, the arena remembers. */
bool path_set_add(struct path_set *set, struct arena *arena, const char *path);
bool path_set_has(const struct path_set *set, const char *path);

#endif
