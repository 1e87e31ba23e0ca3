/*
 * What every unit test needs. To use it:
 *
 *     #include <criterion/criterion.h>
 *     #include "tests/unit/harness.h"
 *
 *     TestSuite(noun, .fini = harness_leak_check);
 *     Test(noun, does_this) { ... }
 *
 * and one line in meson.build beside this file. Each Test runs in a process of its own with two threads, so make no
 * user namespace in its body but in a clone3 child. A criterion is met or the test fails: cr_assert_* end the test,
 * cr_expect_* go on. Hostile programs belong in tests/escape.
 */
#ifndef TESTS_UNIT_HARNESS_H
#define TESTS_UNIT_HARNESS_H

#include <stddef.h>

#include "base/error.h"

/* Fails the test where memory is lost, in builds with AddressSanitizer; criterion itself takes no notice of leaks.
 * Removes the directories that an assertion left behind. */
void harness_leak_check(void);

/* Makes an empty directory under TMPDIR and returns an open descriptor of it; its path goes to ret_path. Ends the test
 * where that fails. Undone by harness_rm_tree. */
int harness_tmpdir(char *ret_path, size_t size);
/* Removes the tree, following no symlink. */
void harness_rm_tree(const char *path);
/* The number of open descriptors of this process. */
int harness_count_fds(void);
/* Ends the test, showing err, where r is negative; returns r. */
int harness_ok(int r, const struct error *err);

#endif
