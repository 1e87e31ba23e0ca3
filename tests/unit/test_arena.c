#include <criterion/criterion.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "tests/unit/harness.h"

TestSuite(arena, .fini = harness_leak_check);

static struct arena *new_arena(void)
{
	struct arena *arena = NULL;
	struct error err;

	harness_ok(arena_new(&arena, &err), &err);
	return arena;
}

static size_t count_nonzero(const unsigned char *bytes, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += bytes[i] != 0;
	return n;
}

Test(arena, pieces_are_zeroed_aligned_and_apart)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, 1024, 1025, 4096, 100000, 3};
	unsigned char *pieces[11];

	for (size_t i = 0; i < 11; i++) {
		pieces[i] = arena_alloc(arena, sizes[i]);
		cr_assert_not_null(pieces[i]);
		cr_expect_eq((uintptr_t)pieces[i] % alignof(max_align_t), 0);
		cr_expect_eq(count_nonzero(pieces[i], sizes[i]), 0);
		memset(pieces[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < 11; i++) {
		for (size_t at = 0; at < sizes[i]; at++)
			cr_assert_eq(pieces[i][at], i + 1, "piece %zu was overwritten at %zu", i, at);
	}
	cr_expect_eq(arena_check(arena, NULL), 0);
}

Test(arena, empty_pieces_differ)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();

	cr_expect_neq(arena_alloc(arena, 0), arena_alloc(arena, 0));
}

Test(arena, strings)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();

	cr_expect_str_eq(arena_strdup(arena, "pound"), "pound");
	cr_expect_null(arena_strdup(arena, NULL));
	cr_expect_str_eq(arena_strndup(arena, "pinfold", 3), "pin");
	cr_expect_str_eq(arena_strndup(arena, "pin", 100), "pin");
	cr_expect_str_eq(arena_strndup(arena, "pin", 0), "");
	cr_expect_str_eq(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
	cr_expect_str_eq(arena_printf(arena, "%s", ""), "");
	cr_expect_eq(strlen(arena_printf(arena, "%9000d", 1)), 9000);
	cr_expect_eq(arena_check(arena, NULL), 0, "none of these is a failure");
}

Test(arena, push_grows_and_keeps)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct pair {
		int number;
		char *text;
	} *pairs = NULL;
	size_t n = 0;

	for (int i = 0; i < 1000; i++) {
		struct pair *pair = arena_push(arena, &pairs, &n);

		cr_assert_not_null(pair);
		cr_assert_eq(pair, &pairs[i]);
		cr_assert(pair->number == 0 && pair->text == NULL, "element %d is not zeroed", i);
		pair->number = i;
		cr_assert_not_null(arena_alloc(arena, 3), "something else goes between");
	}
	cr_assert_eq(n, 1000);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(pairs[i].number, i);
}

Test(arena, push_after_shortening_is_zeroed)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	size_t n = 0;
	int *numbers = NULL;

	for (int i = 0; i < 6; i++)
		*arena_push(arena, &numbers, &n) = 9;
	n = 5; /* the room stays, and with it the old value */
	cr_expect_eq(*arena_push(arena, &numbers, &n), 0);
	cr_expect_eq(n, 6);
	n = 3;
	cr_expect_eq(*arena_push(arena, &numbers, &n), 0);
	cr_expect_eq(*arena_push(arena, &numbers, &n), 0);
	cr_expect_eq(n, 5);
}

Test(arena, failure_is_remembered)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct error err = {0};

	cr_expect_null(arena_alloc(arena, SIZE_MAX));
	cr_expect_null(arena_alloc(arena, SIZE_MAX - alignof(max_align_t)));
	cr_expect_not_null(arena_alloc(arena, 8), "an arena that failed once is still usable");
	cr_assert_lt(arena_check(arena, &err), 0);
	cr_expect_eq(err.code, ERROR_NO_MEMORY);
}

Test(arena, push_overflow_fails)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct error err;
	size_t n = (SIZE_MAX >> 1) + 1;
	int dummy, *numbers = &dummy;

	cr_expect_null(arena_push(arena, &numbers, &n));
	cr_expect_eq(n, (SIZE_MAX >> 1) + 1);
	cr_expect_eq(numbers, &dummy);
	cr_expect_lt(arena_check(arena, &err), 0);
}

Test(arena, free_accepts_null)
{
	cr_expect_null(arena_free(NULL));
}
