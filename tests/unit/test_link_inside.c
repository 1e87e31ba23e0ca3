#include <criterion/criterion.h>

#include "runtime/workspace/link_inside.h"
#include "tests/unit/harness.h"

TestSuite(link_inside, .fini = harness_leak_check, .timeout = 20);

static const struct {
	const char *path, *target;
	bool inside;
} rows[] = {
	{"l", "a", true},
	{"l", "a/b/c", true},
	{"l", "./a", true},
	{"l", ".", true},
	{"l", "a//b/", true},
	{"l", "..a", true},
	{"l", "...", true},
	{"l", "", false},
	{"l", "/", false},
	{"l", "/etc/passwd", false},
	{"l", "..", false},
	{"l", "./..", false},
	{"l", "../x", false},
	{"l", "a/..", false}, /* a may be a link */
	{"l", "a/../b", false},
	{"d/l", "..", true},
	{"d/l", "../l", true},
	{"d/l", "./../x", true},
	{"d/l", "..//x", true},
	{"d/l", "../..", false},
	{"d/l", "../../d/l", false},
	{"d/e/l", "../../x", true},
	{"d/e/l", "../../../x", false},
	{"d/e/l", "../x/../..", false},
	{"d/e/l", "x/..", false},
	{"d/e/l", "../x/..", false},
	{"d/e/l", "./x/./../y", false},
	{"d/e/l", ".././../x", true},
	{"d/e/l", ".././../..", false},
};

Test(link_inside, by_the_table)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(link_stays_inside(rows[i].path, rows[i].target), rows[i].inside, "%s -> %s", rows[i].path,
			rows[i].target);
}
