#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "runtime/supervise/keep.h"
#include "runtime/supervise/passage.h"
#include "tests/unit/harness.h"

TestSuite(keep, .fini = harness_leak_check, .timeout = 60);

#define EURO "\xe2\x82\xac"

struct kept {
	struct keep keep;
	struct arena *arena;
	struct outcome_stream stream;
};

static struct kept keep_in_chunks(const char *data, size_t size, uint64_t cap, size_t chunk)
{
	struct kept kept = {0};
	struct error err = {0};

	harness_ok(arena_new(&kept.arena, &err), &err);
	keep_init(&kept.keep, cap);
	for (size_t at = 0; at < size; at += chunk)
		harness_ok(keep_add(&kept.keep, data + at, size - at < chunk ? size - at : chunk, &err), &err);
	harness_ok(keep_finish(&kept.keep, kept.arena, &kept.stream, &err), &err);
	return kept;
}

static void drop(struct kept *kept)
{
	keep_done(&kept->keep);
	kept->arena = arena_free(kept->arena);
}

static void expect_kept(const char *data, uint64_t cap, const char *expected, uint64_t omitted_at)
{
	for (size_t chunk = 1; chunk <= strlen(data); chunk++) {
		struct kept kept = keep_in_chunks(data, strlen(data), cap, chunk);

		cr_expect_eq(kept.stream.kept, strlen(expected), "%s by %zu: kept %zu", data, chunk, kept.stream.kept);
		cr_expect_eq(memcmp(kept.stream.data, expected, strlen(expected)), 0, "%s by %zu", data, chunk);
		cr_expect_eq(kept.stream.bytes, strlen(data));
		cr_expect_eq(kept.stream.omitted_bytes, strlen(data) - strlen(expected));
		if (kept.stream.omitted_bytes > 0)
			cr_expect_eq(kept.stream.omitted_at, omitted_at, "%s by %zu", data, chunk);
		drop(&kept);
	}
}

Test(keep, keep_takes_head_and_tail)
{
	expect_kept("0123456789", 10, "0123456789", 0);
	expect_kept("0123456789", UINT64_MAX, "0123456789", 0);
	expect_kept("0123456789", 4, "0189", 2);
	expect_kept("0123456789", 5, "01289", 3);
	expect_kept("0123456789", 1, "0", 1);
	expect_kept("0123456789", 9, "012346789", 5);
}

Test(keep, keep_splits_no_character)
{
	expect_kept(EURO EURO, 4, EURO, 0); /* the tail uses what the head gave up */
	expect_kept("ab" EURO EURO "cd", 6,
		"ab"
		"cd",
		2);
	expect_kept("a" EURO EURO "b", 4, "ab", 1);
}

Test(keep, keep_of_nothing_counts)
{
	struct kept kept = keep_in_chunks("hello", 5, 0, 2);

	cr_expect_eq(kept.stream.kept, 0);
	cr_expect_eq(kept.stream.bytes, 5);
	cr_expect_eq(kept.stream.omitted_bytes, 5);
	drop(&kept);
}

Test(keep, keep_does_not_outgrow_its_cap)
{
	struct kept kept = {0};
	struct error err = {0};
	static char chunk[65536];

	harness_ok(arena_new(&kept.arena, &err), &err);
	keep_init(&kept.keep, 100000);
	for (int i = 0; i < 200; i++)
		harness_ok(keep_add(&kept.keep, chunk, sizeof chunk, &err), &err);
	cr_expect_leq(kept.keep.allocated, 100003);
	cr_expect_eq(kept.keep.total, 200 * sizeof chunk);
	drop(&kept);
}

/* Whatever the cap, a text stays a text, is at most as long as the cap, and loses less than two characters to the cut. */
Test(keep, keep_leaves_text_valid_at_every_cap)
{
	static const char text[] = "a" EURO "\xc3\xa4z\xf0\x9f\x98\x80" EURO EURO "q\xc3\xb6" EURO
				   "\xf0\x9f\x98\x80xyz" EURO;
	size_t size = sizeof text - 1;

	for (uint64_t cap = 1; cap <= size + 1; cap++) {
		for (size_t chunk = 1; chunk <= size; chunk += 3) {
			struct kept kept = keep_in_chunks(text, size, cap, chunk);
			struct outcome_stream *s = &kept.stream;

			cr_expect(str_utf8_valid(s->data, s->kept), "cap %zu", (size_t)cap);
			cr_expect_leq(s->kept, cap);
			cr_expect_geq(s->kept + 6, cap < size ? cap : size);
			cr_expect_eq(s->kept + s->omitted_bytes, size);
			cr_expect_eq(memcmp(s->data, text, s->omitted_bytes > 0 ? s->omitted_at : size), 0);
			drop(&kept);
		}
	}
}

static void expect_passed(const char *data, uint64_t cap, const char *expected)
{
	for (size_t chunk = 1; chunk <= strlen(data); chunk++) {
		struct passage passage = {.cap = cap, .closed = cap == 0};
		char out[256] = "";
		size_t n = 0;

		for (size_t at = 0; at < strlen(data); at += chunk) {
			size_t size = strlen(data) - at < chunk ? strlen(data) - at : chunk;

			n += passage_take(&passage, data + at, size, out + n);
		}
		n += passage_end(&passage, out + n);
		cr_expect_eq(n, strlen(expected), "%s cap %zu by %zu: %zu", data, (size_t)cap, chunk, n);
		cr_expect_eq(memcmp(out, expected, n), 0);
		cr_expect_eq(passage.passed, n);
	}
}

Test(keep, passage_ends_at_the_cap_between_characters)
{
	expect_passed("0123456789", 4, "0123");
	expect_passed("0123456789", 10, "0123456789");
	expect_passed("0123456789", UINT64_MAX, "0123456789");
	expect_passed("0123456789", 0, "");
	expect_passed("ab" EURO "cd", 4, "ab");
	expect_passed("ab" EURO "cd", 5, "ab" EURO);
	expect_passed("ab\xe2\x82", 4, "ab\xe2\x82"); /* not ours to judge: it ends so */
	expect_passed(EURO EURO EURO, 8, EURO EURO);
}
