#include "runtime/plan/path_set.h"

#include <stdint.h>
#include <string.h>

#define SIZE_AT_FIRST 256 /* a power of two; never more than half full */

size_t path_hash(const char *path, size_t length)
{
	uint64_t h = 14695981039346656037ull; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)path[i]) * 1099511628211ull;
	return (size_t)h;
}

/* Where a path is, or would be. */
static size_t find(const struct path_set *set, const char *path)
{
	size_t i = path_hash(path, strlen(path)) & (set->size - 1);

	while (set->slots[i] != NULL && strcmp(set->slots[i], path) != 0)
		i = (i + 1) & (set->size - 1);
	return i;
}

static bool grow(struct path_set *set, struct arena *arena)
{
	struct path_set larger = {.size = set->size == 0 ? SIZE_AT_FIRST : set->size * 2, .n = set->n};

	larger.slots = arena_alloc(arena, larger.size * sizeof *larger.slots);
	if (larger.slots == NULL)
		return false;
	for (size_t i = 0; i < set->size; i++) {
		if (set->slots[i] != NULL)
			larger.slots[find(&larger, set->slots[i])] = set->slots[i];
	}
	*set = larger;
	return true;
}

bool path_set_add(struct path_set *set, struct arena *arena, const char *path)
{
	size_t i;

	if (set->n * 2 >= set->size && !grow(set, arena))
		return false;
	i = find(set, path);
	if (set->slots[i] != NULL)
		return false;
	set->slots[i] = path;
	set->n++;
	return true;
}

bool path_set_has(const struct path_set *set, const char *path)
{
	return set->size != 0 && set->slots[find(set, path)] != NULL;
}
