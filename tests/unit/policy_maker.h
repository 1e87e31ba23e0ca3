/* Random policies about the made-up tree of world.h, the same ones for the same seed. */
#ifndef TESTS_UNIT_POLICY_MAKER_H
#define TESTS_UNIT_POLICY_MAKER_H

#include <stdint.h>

struct chance {
	uint64_t state;
};

/* A policy's text with '@' for the tree's directory, to be freed. */
char *policy_maker_next(struct chance *chance);

#endif
