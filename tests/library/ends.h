/*
 * Runs of every kind of end, for the programs that look at what runs leave behind. Each is checked, freed to the last
 * byte, and may be done by many threads at once. `dice` is the state of the thread's own rand_r(3).
 */
#ifndef TESTS_LIBRARY_ENDS_H
#define TESTS_LIBRARY_ENDS_H

#include <stddef.h>

typedef void (*end_fn)(unsigned *dice);

/* The n-th kind; NULL past the last one. */
end_fn end_at(size_t n);
size_t ends_count(void);

#endif
