#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/removal.h"
#include "runtime/supervise/rights.h"
#include "tests/unit/harness.h"

TestSuite(removal, .fini = harness_leak_check, .timeout = 60);

#define PLENTY 100000
#define OWNER  4711
#define OTHER  4712

static bool exists(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	fd_close(fd);
}

/* levels directories, each in the one before, with a file beside each. */
static void make_deep(int dirfd, const char *name, unsigned levels)
{
	int fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);

	for (unsigned i = 0; i < levels; i++) {
		int next;

		put_file(fd, "file");
		cr_assert_eq(mkdirat(fd, i == 0 ? name : "d", 0755), 0);
		next = openat(fd, i == 0 ? name : "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(next, 0);
		fd_close(fd);
		fd = next;
	}
	fd_close(fd);
	cr_assert_eq(unlinkat(dirfd, "file", 0), 0);
}

static int count_entries(int dirfd)
{
	DIR *dir = fdopendir(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int n = 0;

	cr_assert_not_null(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n - 2;
}

Test(removal, takes_away_what_is_no_full_directory)
{
	char path[64], name[REMOVAL_NAME_SIZE];
	int dirfd = harness_tmpdir(path, sizeof path);

	put_file(dirfd, "file");
	cr_assert_eq(mkdirat(dirfd, "directory", 0), 0);
	cr_assert_eq(symlinkat("file", dirfd, "link"), 0);
	cr_expect_eq(removal_take_away(dirfd, "link", name), REMOVAL_GONE);
	cr_expect(exists(dirfd, "file"));
	cr_expect_eq(removal_take_away(dirfd, "file", name), REMOVAL_GONE);
	cr_expect_eq(removal_take_away(dirfd, "directory", name), REMOVAL_GONE);
	cr_expect_eq(removal_take_away(dirfd, "absent", name), REMOVAL_GONE);
	cr_expect_eq(count_entries(dirfd), 0);
	fd_close(dirfd);
	harness_rm_tree(path);
}

Test(removal, a_tree_of_any_depth_goes)
{
	char path[64], name[REMOVAL_NAME_SIZE];
	int dirfd = harness_tmpdir(path, sizeof path), fds = harness_count_fds();
	size_t budget = PLENTY;

	make_deep(dirfd, "d", 1500);
	cr_assert_eq(removal_take_away(dirfd, "d", name), REMOVAL_ASIDE);
	cr_expect_not(exists(dirfd, "d"));
	cr_expect_eq(strncmp(name, REMOVAL_PREFIX, strlen(REMOVAL_PREFIX)), 0);
	cr_expect_eq(strlen(name), REMOVAL_NAME_SIZE - 1);
	cr_expect_eq(removal_delete(dirfd, name, &budget), REMOVAL_DONE);
	cr_expect_gt(budget, PLENTY - 10000, "%zu", budget);
	cr_expect_eq(count_entries(dirfd), 0);
	cr_expect_eq(harness_count_fds(), fds);
	fd_close(dirfd);
	harness_rm_tree(path);
}

Test(removal, keeps_to_its_budget)
{
	char path[64], name[32];
	int dirfd = harness_tmpdir(path, sizeof path);
	size_t budget = 50;

	cr_assert_eq(mkdirat(dirfd, "d", 0755), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "d/%d", i);
		put_file(dirfd, name);
	}
	cr_expect_eq(removal_delete(dirfd, "d", &budget), REMOVAL_UNFINISHED);
	cr_expect_eq(budget, 0);
	budget = 1000;
	cr_expect_eq(removal_delete(dirfd, "d", &budget), REMOVAL_DONE);
	cr_expect_gt(budget, 900);
	cr_expect_eq(removal_delete(dirfd, "d", &budget), REMOVAL_DONE, "what is not there is removed");
	fd_close(dirfd);
	harness_rm_tree(path);
}

/* d/mine/file is the owner's, d/other/precious and d/mine/deep/other/precious are not. */
static void make_mixed(int dirfd)
{
	static const char *const own[] = {"d", "d/mine", "d/mine/deep"};
	static const char *const others[] = {"d/other", "d/mine/deep/other"};

	cr_assert_eq(fchown(dirfd, OWNER, OWNER), 0);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(mkdirat(dirfd, own[i], 0755), 0);
		cr_assert_eq(fchownat(dirfd, own[i], OWNER, OWNER, 0), 0);
	}
	put_file(dirfd, "d/mine/file");
	for (size_t i = 0; i < 2; i++) {
		char file[64];

		(void)snprintf(file, sizeof file, "%s/precious", others[i]);
		cr_assert_eq(mkdirat(dirfd, others[i], 0755), 0);
		put_file(dirfd, file);
		cr_assert_eq(fchownat(dirfd, file, OTHER, OTHER, 0), 0);
		cr_assert_eq(fchownat(dirfd, others[i], OTHER, OTHER, 0), 0);
	}
}

Test(removal, leaves_to_others_what_is_theirs)
{
	char path[64], name[REMOVAL_NAME_SIZE], left[96];
	int dirfd = harness_tmpdir(path, sizeof path), fd;
	size_t budget = PLENTY;
	struct rights rights = {0};
	struct error err = {0};

	if (geteuid() != 0)
		cr_skip_test("needs root");
	make_mixed(dirfd);
	harness_ok(rights_narrow(OWNER, OWNER, &rights, &err), &err);
	cr_expect_eq(removal_take_away(dirfd, "d", name), REMOVAL_ASIDE);
	cr_expect_eq(removal_delete(dirfd, name, &budget), REMOVAL_STUCK);
	cr_expect_gt(budget, PLENTY - 100);
	harness_ok(rights_widen(&rights, &err), &err);
	cr_expect_not(exists(dirfd, "d"));
	(void)snprintf(left, sizeof left, "%s/other/precious", name);
	cr_expect(exists(dirfd, left));
	(void)snprintf(left, sizeof left, "%s/mine/file", name);
	cr_expect_not(exists(dirfd, left), "what can be removed is");
	(void)snprintf(left, sizeof left, "%s/mine/deep", name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_expect_geq(count_entries(fd), 2, "both directories of the other are there");
	fd_close(fd);
	fd_close(dirfd);
	harness_rm_tree(path);
}

Test(removal, what_cannot_even_be_renamed_is_told)
{
	char path[64], name[REMOVAL_NAME_SIZE];
	int dirfd = harness_tmpdir(path, sizeof path);
	struct rights rights = {0};
	struct error err = {0};

	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(mkdirat(dirfd, "d", 0755), 0);
	put_file(dirfd, "d/file");
	harness_ok(rights_narrow(OWNER, OWNER, &rights, &err), &err);
	cr_expect_eq(removal_take_away(dirfd, "d", name), -1);
	cr_expect_eq(errno, EACCES);
	harness_ok(rights_widen(&rights, &err), &err);
	cr_expect_eq(removal_take_away(dirfd, "d", name), REMOVAL_ASIDE, "all rights are back");
	fd_close(dirfd);
	harness_rm_tree(path);
}

Test(removal, narrow_rights_are_the_owners)
{
	char path[64];
	int dirfd = harness_tmpdir(path, sizeof path);
	struct rights rights = {0};
	struct error err = {0};
	struct stat st;

	if (geteuid() != 0)
		cr_skip_test("needs root");
	put_file(dirfd, "secret");
	cr_assert_eq(fchmodat(dirfd, "secret", 0600, 0), 0);
	cr_assert_eq(fchown(dirfd, OWNER, OWNER), 0);
	harness_ok(rights_narrow(OWNER, OWNER, &rights, &err), &err);
	cr_expect_eq(openat(dirfd, "secret", O_RDONLY | O_CLOEXEC), -1);
	put_file(dirfd, "made");
	cr_expect_eq(geteuid(), 0);
	harness_ok(rights_widen(&rights, &err), &err);
	harness_ok(rights_widen(&rights, &err), &err);
	cr_assert_eq(fstatat(dirfd, "made", &st, 0), 0);
	cr_expect_eq(st.st_uid, OWNER);
	cr_expect_eq(st.st_gid, OWNER);
	cr_expect_eq(fchownat(dirfd, "secret", OTHER, OTHER, 0), 0, "all rights are back");
	fd_close(dirfd);
	harness_rm_tree(path);
}
