/*
 * What the fuzz targets share. A target is one file with one function, run by libFuzzer in builds with -Dfuzz=true, and
 * in every build on the files of its corpus (replay.c). It may use what the unit tests share: an assertion that fails
 * there or in the target itself is told and ends the process, which is how a finding looks.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input, taken from its beginning; zeroes come when it is used up. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *input);
/* Copies up to `size` bytes and fills the rest with zeroes. */
void fuzz_bytes(struct fuzz_input *input, void *ret_bytes, size_t size);
/* The bytes up to a NUL or the end, terminated, in memory of just that size; to be freed. Never NULL. */
char *fuzz_text(struct fuzz_input *input);
/* Fails where the text is no JSON. Frees it. */
void fuzz_expect_json_take(char *text);

/* The made-up tree of world.h, made for the first input and removed when the process ends. */
const struct world *fuzz_world(void);
/* One of the fake hosts, by the next byte. */
const struct host *fuzz_host(struct fuzz_input *input);

#endif
