#include <criterion/criterion.h>

#include "runtime/plan/path_set.h"
#include "tests/unit/harness.h"

TestSuite(path_set, .fini = harness_leak_check);

Test(path_set, has_each_path_once)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct path_set set = {0};
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	cr_expect(!path_set_has(&set, "/a"));
	for (int i = 0; i < 5000; i++)
		cr_assert(path_set_add(&set, arena, arena_printf(arena, "/a/%d", i)));
	for (int i = 0; i < 5000; i++) {
		const char *path = arena_printf(arena, "/a/%d", i);

		cr_assert(path_set_has(&set, path));
		cr_assert(!path_set_add(&set, arena, path));
	}
	cr_expect(!path_set_has(&set, "/a"));
	cr_expect(!path_set_has(&set, "/a/5000"));
	cr_expect_eq(set.n, 5000);
}
