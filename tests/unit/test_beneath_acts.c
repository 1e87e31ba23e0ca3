/*
 * Making, renaming, removing and reading below a directory: one table, by openat2 and with openat2 refused, and then
 * while somebody exchanges a directory on the way with a symlink that leads out.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "tests/unit/harness.h"
#include "tests/unit/openat2.h"

static char tree_path[256];
static int tree = -1; /* the root is "in" of it, which has an "out" beside it */
static int in = -1;

static void touch(const char *path)
{
	cr_assert_eq(mknodat(tree, path, S_IFREG | 0644, 0), 0, "%s: %s", path, strerror(errno));
}

static void build(void)
{
	cr_assert_eq(mkdirat(tree, "in", 0755), 0);
	cr_assert_eq(mkdirat(tree, "out", 0755), 0);
	touch("out/secret");
	cr_assert_eq(mkdirat(tree, "in/d", 0755), 0);
	cr_assert_eq(mkdirat(tree, "in/d/full", 0755), 0);
	touch("in/d/full/f");
	touch("in/f");
	cr_assert_eq(symlinkat("../out", tree, "in/out"), 0);
	cr_assert_eq(symlinkat("d", tree, "in/link"), 0);
	in = openat(tree, "in", O_PATH | O_CLOEXEC);
}

static void setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
	build();
}

static void teardown(void)
{
	(void)fd_close(in);
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

TestSuite(beneath_acts, .init = setup, .fini = teardown, .timeout = 100);

static int act_mkdir(const char *path)
{
	return beneath_mkdir(in, path, 0755);
}

static int act_symlink(const char *path)
{
	return beneath_symlink("anywhere", in, path);
}

static int act_unlink(const char *path)
{
	return beneath_unlink(in, path, 0);
}

static int act_rmdir(const char *path)
{
	return beneath_unlink(in, path, AT_REMOVEDIR);
}

static int act_rename_from(const char *path)
{
	return beneath_rename(in, path, in, "d/moved", RENAME_NOREPLACE);
}

static int act_rename_to(const char *path)
{
	return beneath_rename(in, "f", in, path, RENAME_NOREPLACE);
}

static int act_stat(const char *path)
{
	struct stat status;

	return beneath_stat(in, path, &status);
}

static int act_readlink(const char *path)
{
	char target[8];

	return beneath_readlink(in, path, target, sizeof target) < 0 ? -1 : 0;
}

static int act_make_dirs(const char *path)
{
	int fd = beneath_make_dirs(in, path, 0755);

	return fd_close(fd), fd < 0 ? -1 : 0;
}

static const struct {
	int (*act)(const char *path);
	const char *path;
	int sys_errno; /* 0: it is done */
	const char *made, *gone;
} rows[] = {
	{act_mkdir, "new", 0, "in/new", NULL},
	{act_mkdir, "/d//new", 0, "in/d/new", NULL},
	{act_mkdir, "d", EEXIST, NULL, NULL},
	{act_mkdir, "out", EEXIST, NULL, NULL},
	{act_mkdir, "out/new", ELOOP, NULL, NULL},
	{act_mkdir, "link/new", ELOOP, NULL, NULL},
	{act_mkdir, "../out/new", EXDEV, NULL, NULL},
	{act_mkdir, "d/../new", EXDEV, NULL, NULL},
	{act_mkdir, "f/new", ENOTDIR, NULL, NULL},
	{act_mkdir, "new/new", ENOENT, NULL, NULL},
	{act_mkdir, "new/", EINVAL, NULL, NULL},
	{act_mkdir, ".", EINVAL, NULL, NULL},
	{act_mkdir, "", EINVAL, NULL, NULL},
	{act_symlink, "d/new", 0, "in/d/new", NULL},
	{act_symlink, "out", EEXIST, NULL, NULL},
	{act_symlink, "out/new", ELOOP, NULL, NULL},
	{act_symlink, "../new", EXDEV, NULL, NULL},
	{act_unlink, "f", 0, NULL, "in/f"},
	{act_unlink, "out", 0, "out/secret", "in/out"}, /* the link alone */
	{act_unlink, "out/secret", ELOOP, NULL, NULL},
	{act_unlink, "../out/secret", EXDEV, NULL, NULL},
	{act_unlink, "d", EISDIR, NULL, NULL},
	{act_unlink, "missing", ENOENT, NULL, NULL},
	{act_rmdir, "d/full", ENOTEMPTY, NULL, NULL},
	{act_rmdir, "out", ENOTDIR, NULL, NULL},
	{act_rmdir, "..", EXDEV, NULL, NULL},
	{act_rename_from, "f", 0, "in/d/moved", "in/f"},
	{act_rename_from, "out", 0, "in/d/moved", "in/out"},
	{act_rename_from, "out/secret", ELOOP, NULL, NULL},
	{act_rename_from, "link/full", ELOOP, NULL, NULL},
	{act_rename_from, "../out", EXDEV, NULL, NULL},
	{act_rename_from, "d", EINVAL, NULL, NULL}, /* into itself */
	{act_rename_to, "d/new", 0, "in/d/new", "in/f"},
	{act_rename_to, "out/new", ELOOP, NULL, NULL},
	{act_rename_to, "out", EEXIST, NULL, NULL},
	{act_rename_to, "../out/new", EXDEV, NULL, NULL},
	{act_stat, "out", 0, NULL, NULL},
	{act_stat, "", 0, NULL, NULL},
	{act_stat, "out/secret", ELOOP, NULL, NULL},
	{act_stat, "../out", EXDEV, NULL, NULL},
	{act_readlink, "out", 0, NULL, NULL},
	{act_readlink, "f", EINVAL, NULL, NULL},
	{act_readlink, "out/secret", ELOOP, NULL, NULL},
	{act_make_dirs, "", 0, NULL, NULL},
	{act_make_dirs, "d/full", 0, NULL, NULL},
	{act_make_dirs, "d/a/./b//c", 0, "in/d/a/b/c", NULL},
	{act_make_dirs, "out", ELOOP, NULL, NULL},
	{act_make_dirs, "out/new", ELOOP, NULL, NULL},
	{act_make_dirs, "link/new/x", ELOOP, NULL, NULL},
	{act_make_dirs, "new/../x", EXDEV, NULL, NULL},
	{act_make_dirs, "f", ENOTDIR, NULL, NULL},
	{act_make_dirs, "f/new", ENOTDIR, NULL, NULL},
};

static bool exists(const char *path)
{
	struct stat status;

	return fstatat(tree, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void check_row(size_t i, const char *way)
{
	int fds = harness_count_fds(), r;

	errno = 0;
	r = rows[i].act(rows[i].path);
	if (rows[i].sys_errno == 0)
		cr_expect_eq(r, 0, "%zu, \"%s\" by %s: %s", i, rows[i].path, way, strerror(errno));
	else
		cr_expect(r == -1 && errno == rows[i].sys_errno, "%zu, \"%s\" by %s: %d, %s", i, rows[i].path, way, r,
			strerror(errno));
	cr_expect(rows[i].made == NULL || exists(rows[i].made), "%s", rows[i].made);
	cr_expect(rows[i].gone == NULL || !exists(rows[i].gone), "%s", rows[i].gone);
	cr_expect(exists("out/secret") && !exists("out/new"));
	cr_expect_eq(harness_count_fds(), fds, "%zu leaves descriptors open", i);
}

static void check_rows(const char *way)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		check_row(i, way);
		teardown();
		setup();
	}
}

Test(beneath_acts, openat2)
{
	check_rows("openat2");
}

Test(beneath_acts, the_walk)
{
	openat2_refuse(ENOSYS);
	check_rows("the walk");
}

Test(beneath_acts, a_link_is_named)
{
	static const struct {
		const char *path;
		size_t length;
	} links[] = {{"out", 3}, {"out/x/y", 3}, {"d/full", 6}, {"link/full/f", 4}, {"missing/x", 9}, {"//out//x", 5}};

	cr_assert_eq(symlinkat("full", tree, "in/d/l"), 0);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		cr_expect_eq(beneath_link_length(in, links[i].path), links[i].length, "%s", links[i].path);
	cr_expect_eq(beneath_link_length(in, "d/l/f/x"), 3);
}

Test(beneath_acts, targets_are_given_whole_or_not)
{
	char target[7] = "";

	cr_expect_eq(beneath_readlink(in, "out", target, 7), 6);
	cr_expect_str_eq(target, "../out");
	cr_expect_eq(beneath_readlink(in, "out", target, 6), -1);
	cr_expect_eq(errno, ENAMETOOLONG);
}

struct swapper {
	pthread_t thread;
	bool stop;      /* atomic */
	unsigned swaps; /* atomic */
};

static void *swap_until_stopped(void *userdata)
{
	struct swapper *swapper = userdata;

	while (!__atomic_load_n(&swapper->stop, __ATOMIC_RELAXED)) {
		if (renameat2(tree, "in/d", tree, "decoy", RENAME_EXCHANGE) < 0)
			return swapper;
		(void)__atomic_add_fetch(&swapper->swaps, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* One round of everything below the name that is exchanged; how many of the acts were done. */
static unsigned act_all(void)
{
	unsigned done = 0;

	done += beneath_mkdir(in, "d/m", 0755) == 0;
	done += beneath_symlink("x", in, "d/s") == 0;
	done += beneath_rename(in, "d/s", in, "d/t", 0) == 0;
	done += beneath_unlink(in, "d/t", 0) == 0;
	done += beneath_unlink(in, "d/m", AT_REMOVEDIR) == 0;
	done += act_make_dirs("d/x/y") == 0;
	done += beneath_unlink(in, "d/x/y", AT_REMOVEDIR) == 0;
	done += beneath_unlink(in, "d/x", AT_REMOVEDIR) == 0;
	(void)beneath_unlink(in, "d/secret", 0);
	(void)beneath_rename(in, "d/secret", in, "stolen", 0);
	return done;
}

static unsigned entries_outside(void)
{
	struct stat status;

	cr_assert_eq(fstatat(tree, "out", &status, 0), 0);
	return (unsigned)status.st_nlink - 2;
}

static void act_while_swapping(void)
{
	uint64_t deadline = monotime_after_ns(40 * NS_PER_S);
	struct swapper swapper = {.stop = false};
	unsigned done = 0, rounds = 0;
	void *failed = NULL;

	cr_assert_eq(symlinkat("../out", tree, "decoy"), 0);
	cr_assert_eq(pthread_create(&swapper.thread, NULL, swap_until_stopped, &swapper), 0);
	while ((__atomic_load_n(&swapper.swaps, __ATOMIC_RELAXED) < 10000 || done < 1000 || rounds * 8 < done + 1000) &&
		monotime_ns() < deadline) {
		done += act_all();
		rounds++;
	}
	__atomic_store_n(&swapper.stop, true, __ATOMIC_RELAXED);
	cr_assert_eq(pthread_join(swapper.thread, &failed), 0);
	cr_expect_null(failed, "the swapping did not work");
	cr_expect(swapper.swaps >= 10000 && done >= 1000 && rounds * 8 >= done + 1000, "%u swaps, %u done of %u",
		swapper.swaps, done, rounds * 8);
	cr_expect(exists("out/secret") && !exists("in/stolen"), "something outside was removed or taken");
	cr_expect_eq(entries_outside(), 0, "a directory was made outside");
	cr_expect(!exists("out/s") && !exists("out/t") && !exists("out/m") && !exists("out/x"));
}

Test(beneath_acts, swapping_against_openat2)
{
	act_while_swapping();
}

Test(beneath_acts, swapping_against_the_walk)
{
	openat2_refuse(EPERM);
	act_while_swapping();
}
