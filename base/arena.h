/* Memory that is freed all at once: the immutable trees (policy, plan, report, result) live in one arena each. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct arena;

must_check int arena_new(struct arena **ret_arena, struct error *err);
struct arena *arena_free(struct arena *arena);
CLEANUP_DEFINE(struct arena, arena_free)

/* Zeroed, aligned for any type. NULL when memory is out (then the arena remembers it, see arena_failed). size may be 0. */
void *arena_alloc(struct arena *arena, size_t size);
/* NULL for s == NULL or when memory is out. */
char *arena_strdup(struct arena *arena, const char *s);
char *arena_strndup(struct arena *arena, const char *s, size_t size);
char *arena_printf(struct arena *arena, const char *fmt, ...) printf_like(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list args) printf_like(2, 0);
/* Grows `array` of *n elements by one zeroed element (amortized) and returns that element; *array and *n are updated.
 * NULL when memory is out. */
#define arena_push(arena, array, n) \
	((__typeof__(*(array)))arena_push_raw((arena), (void **)(array), (n), sizeof **(array)))
void *arena_push_raw(struct arena *arena, void **array, size_t *n, size_t element_size);
/* True once any allocation failed: build a tree without checking each step, then check once. */
must_check int arena_check(const struct arena *arena, struct error *err);

#endif
