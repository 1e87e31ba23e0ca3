/* Random policies about the made-up tree of world.h, the same ones for the same seed or the same bytes. */
#ifndef TESTS_UNIT_POLICY_MAKER_H
#define TESTS_UNIT_POLICY_MAKER_H

#include <stddef.h>
#include <stdint.h>

/* What the choices go by: each takes one of the bytes, borrowed, and when there is none left a pseudo-random number. */
struct chance {
	uint64_t state;
	const uint8_t *bytes;
	size_t n_bytes;
};

/* A policy's text with '@' for the tree's directory, to be freed. */
char *policy_maker_next(struct chance *chance);

#endif
