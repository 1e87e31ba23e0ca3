/* Scope-bound ownership: `cleanup_close int fd = -1;`, and steal_* to hand a thing on. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stddef.h>

/* Closes *fd where it is >= 0; keeps errno. */
void cleanup_close_fd(int *fd);
void cleanup_free_ptr(void *pp);

#define cleanup_close    __attribute__((cleanup(cleanup_close_fd)))
#define cleanup_free     __attribute__((cleanup(cleanup_free_ptr)))
#define cleanup_with(fn) __attribute__((cleanup(fn)))

/* Defines fn##p(T **) for use with cleanup_with, from a `T *fn(T *)` destructor. A type takes no parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define CLEANUP_DEFINE(T, fn)            \
	static inline void fn##p(T **pp) \
	{                                \
		if (*pp != NULL)         \
			*pp = fn(*pp);   \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *steal_ptr_void(void *pp)
{
	void **slot = pp;
	void *taken = *slot;

	*slot = NULL;
	return taken;
}
#define steal_ptr(pp) ((__typeof__(*(pp)))steal_ptr_void(pp))

#endif
