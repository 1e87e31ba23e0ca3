#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/climber.h"
#include "base/fd.h"
#include "tests/unit/harness.h"

static char tree_path[256];
static int tree = -1;

static void setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
	cr_assert_eq(mkdirat(tree, "a", 0755), 0);
	cr_assert_eq(mkdirat(tree, "a/b", 0755), 0);
	cr_assert_eq(mkdirat(tree, "elsewhere", 0755), 0);
	cr_assert_eq(symlinkat("elsewhere", tree, "link"), 0);
	cr_assert_eq(mknodat(tree, "file", S_IFREG | 0644, 0), 0);
}

static void teardown(void)
{
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

TestSuite(climber, .init = setup, .fini = teardown, .timeout = 60);

static void expect_at(const struct climber *climber, const char *path)
{
	struct stat here, wanted;

	cr_assert_eq(fstat(climber->fd, &here), 0);
	cr_assert_eq(fstatat(tree, path, &wanted, 0), 0);
	cr_expect(here.st_dev == wanted.st_dev && here.st_ino == wanted.st_ino, "it is not at %s", path);
}

Test(climber, goes_down_and_up)
{
	cleanup_climber struct climber climber = CLIMBER_NOWHERE;
	int fds = harness_count_fds();

	cr_assert_eq(climber_begin(&climber, tree), 0);
	cr_expect_eq(climber_down(&climber, "a"), 0);
	cr_expect_eq(climber_down(&climber, "b"), 0);
	cr_expect_eq(harness_count_fds(), fds + 1);
	expect_at(&climber, "a/b");
	cr_expect_eq(climber_up(&climber), 0);
	expect_at(&climber, "a");
	cr_expect_eq(climber_down(&climber, "b"), 0, "from a mere place, too");
	cr_expect_eq(climber_up(&climber), 0);
	cr_expect_eq(climber_up(&climber), 0);
	expect_at(&climber, ".");
	cr_expect_eq(climber.depth, 0);
}

Test(climber, follows_nothing)
{
	cleanup_climber struct climber climber = CLIMBER_NOWHERE;

	cr_assert_eq(climber_begin(&climber, tree), 0);
	cr_expect_eq(climber_down(&climber, "link"), -1);
	cr_expect(errno == ELOOP || errno == ENOTDIR);
	cr_expect_eq(climber_down(&climber, "file"), -1);
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_eq(climber_down(&climber, "missing"), -1);
	cr_expect_eq(errno, ENOENT);
	expect_at(&climber, ".");
}

Test(climber, does_not_come_up_elsewhere)
{
	cleanup_climber struct climber climber = CLIMBER_NOWHERE;

	cr_assert_eq(climber_begin(&climber, tree), 0);
	cr_assert_eq(climber_down(&climber, "a"), 0);
	cr_assert_eq(climber_down(&climber, "b"), 0);
	cr_assert_eq(renameat(tree, "a/b", tree, "elsewhere/b"), 0);
	cr_expect_eq(climber_up(&climber), -1);
	cr_expect_eq(errno, ESTALE);
	expect_at(&climber, "elsewhere/b");
	cr_assert_eq(renameat(tree, "elsewhere/b", tree, "a/b"), 0);
	cr_expect_eq(climber_up(&climber), 0);
	expect_at(&climber, "a");
}
