/*
 * An arena: blocks that only grow, each cut into pieces in turn, all freed at once.
 *
 * The immutable trees are built in one go and die in one go, so no piece is ever given back alone. Small pieces share a
 * block; a piece larger than a quarter of a block gets a block of its own, put behind the current one, so that one big
 * string does not waste what is left of it. Sizes come from policy files and command lines, so each sum is checked for
 * overflow. The first failed allocation is remembered: a tree can be built without checking each step and judged once.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 4096
#define ALIGNMENT  alignof(max_align_t)

struct block {
	struct block *next;
	size_t used, size; /* of `bytes` */
	alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct block *blocks; /* the first one is the one being cut */
	bool failed;
};

int arena_new(struct arena **ret_arena, struct error *err)
{
	struct arena *arena = calloc(1, sizeof *arena);

	if (arena == NULL)
		return error_no_memory(err);
	*ret_arena = arena;
	return 0;
}

struct arena *arena_free(struct arena *arena)
{
	struct block *block;

	if (arena == NULL)
		return NULL;
	while ((block = arena->blocks) != NULL) {
		arena->blocks = block->next;
		free(block);
	}
	free(arena);
	return NULL;
}

/* calloc: the zeroes that arena_alloc promises come from here, since no piece is used twice. */
static struct block *block_new(size_t size)
{
	struct block *block;

	if (size > SIZE_MAX - sizeof *block)
		return NULL;
	block = calloc(1, sizeof *block + size);
	if (block != NULL)
		block->size = size;
	return block;
}

static struct block *block_with_room(struct arena *arena, size_t size)
{
	struct block *first = arena->blocks;
	struct block *block;
	bool large = size > BLOCK_SIZE / 4;

	if (first != NULL && first->size - first->used >= size)
		return first;
	block = block_new(large ? size : BLOCK_SIZE);
	if (block == NULL)
		return NULL;
	if (large && first != NULL) {
		block->next = first->next;
		first->next = block;
	} else {
		block->next = first;
		arena->blocks = block;
	}
	return block;
}

static void *fail(struct arena *arena)
{
	arena->failed = true;
	return NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct block *block;
	void *piece;

	if (size > SIZE_MAX - ALIGNMENT)
		return fail(arena);
	size = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	block = block_with_room(arena, size);
	if (block == NULL)
		return fail(arena);
	piece = block->bytes + block->used;
	block->used += size;
	return piece;
}

char *arena_strdup(struct arena *arena, const char *s)
{
	return s == NULL ? NULL : arena_strndup(arena, s, strlen(s));
}

char *arena_strndup(struct arena *arena, const char *s, size_t size)
{
	size_t length;
	char *copy;

	if (s == NULL)
		return NULL;
	length = strnlen(s, size);
	copy = arena_alloc(arena, length + 1);
	if (copy != NULL)
		memcpy(copy, s, length);
	return copy;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args;
	char *s;

	va_start(args, fmt);
	s = arena_vprintf(arena, fmt, args);
	va_end(args);
	return s;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list args)
{
	va_list measured;
	int length;
	char *s;

	va_copy(measured, args);
	length = vsnprintf(NULL, 0, fmt, measured);
	va_end(measured);
	if (length < 0)
		return fail(arena);
	s = arena_alloc(arena, (size_t)length + 1);
	if (s != NULL)
		(void)vsnprintf(s, (size_t)length + 1, fmt, args);
	return s;
}

/*
 * The capacity is not stored: an array that only grows here has room for the next power of two, four at least, so it is
 * full exactly when its length is zero or such a power. The old copy stays in the arena, which costs at most as much
 * again as the array itself.
 */
static bool array_is_full(size_t n)
{
	return n == 0 || (n >= 4 && (n & (n - 1)) == 0);
}

static void *array_grow(struct arena *arena, const void *old, size_t n, size_t element_size)
{
	size_t capacity = n == 0 ? 4 : 2 * n;
	void *grown;

	if (n > SIZE_MAX / 4 || (element_size != 0 && capacity > SIZE_MAX / element_size))
		return fail(arena);
	grown = arena_alloc(arena, capacity * element_size);
	if (grown != NULL && n > 0)
		memcpy(grown, old, n * element_size);
	return grown;
}

void *arena_push_raw(struct arena *arena, void **array, size_t *n, size_t element_size)
{
	void *elements;
	unsigned char *element;

	memcpy(&elements, array, sizeof elements); /* *array is really of another pointer type */
	if (array_is_full(*n)) {
		elements = array_grow(arena, elements, *n, element_size);
		if (elements == NULL)
			return NULL;
		memcpy(array, &elements, sizeof elements);
	}
	element = (unsigned char *)elements + *n * element_size;
	memset(element, 0, element_size); /* a caller that shortened the array left the old value there */
	(*n)++;
	return element;
}

int arena_check(const struct arena *arena, struct error *err)
{
	return arena->failed ? error_no_memory(err) : 0;
}
