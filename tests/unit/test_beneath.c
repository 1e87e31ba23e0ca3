/*
 * One table, three ways: openat2, the walk called by name, and beneath_open with openat2 refused as an outer filter
 * refuses it. All three must open the same thing or fail with the same errno.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/sys.h"
#include "tests/unit/harness.h"
#include "tests/unit/openat2.h"

typedef int (*open_fn)(int dirfd, const char *path, int flags, mode_t mode);

static char tree_path[256];
static int tree = -1;

static void make_file(const char *path, const char *content)
{
	cleanup_close int fd = openat(tree, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(fd_write_all(fd, content, strlen(content)), 0);
}

static void setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
	cr_assert_eq(mkdirat(tree, "dir", 0755), 0);
	cr_assert_eq(mkdirat(tree, "dir/sub", 0755), 0);
	cr_assert_eq(mkdirat(tree, "dir/sub/deep", 0755), 0);
	make_file("dir/file", "inside");
	make_file("dir/sub/deep/file", "deep");
	cr_assert_eq(symlinkat("dir", tree, "link"), 0);
	cr_assert_eq(symlinkat("file", tree, "dir/link"), 0);
	cr_assert_eq(symlinkat("../..", tree, "dir/sub/up"), 0);
	cr_assert_eq(symlinkat("nowhere", tree, "dangling"), 0);
	cr_assert_eq(symlinkat("/etc", tree, "absolute"), 0);
	cr_assert_eq(symlinkat("loop", tree, "loop"), 0);
}

static void teardown(void)
{
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

TestSuite(beneath, .init = setup, .fini = teardown, .timeout = 60);

struct row {
	const char *path;
	int flags;
	int sys_errno;      /* 0: it opens */
	const char *target; /* what it opens, by a path that is known to be safe here */
};

#define NAME_256   LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64
#define LETTERS_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOTS_1024  DOTS_256 DOTS_256 DOTS_256 DOTS_256
#define DOTS_256   DOTS_64 DOTS_64 DOTS_64 DOTS_64
#define DOTS_64    "././././././././././././././././././././././././././././././././"

static const struct row rows[] = {
	{"", O_RDONLY, 0, "."},
	{"/", O_RDONLY, 0, "."},
	{"///", O_PATH, 0, "."},
	{".", O_RDONLY, 0, "."},
	{"./", O_RDONLY, 0, "."},
	{"/./.", O_PATH, 0, "."},
	{"dir", O_RDONLY, 0, "dir"},
	{"/dir", O_RDONLY, 0, "dir"},
	{"//dir//", O_PATH, 0, "dir"},
	{"dir/.", O_RDONLY, 0, "dir"},
	{"./dir/././sub/.", O_PATH, 0, "dir/sub"},
	{"dir//sub///deep/", O_RDONLY | O_DIRECTORY, 0, "dir/sub/deep"},
	{"dir/sub/deep/file", O_RDONLY, 0, "dir/sub/deep/file"},
	{"/dir/file", O_RDWR, 0, "dir/file"},
	{"dir/file", O_PATH, 0, "dir/file"},
	{"dir/file", O_PATH | O_RDWR | O_CREAT | O_EXCL | O_TRUNC, 0, "dir/file"},
	{"dir/file", O_RDONLY | O_DIRECTORY, ENOTDIR, NULL},
	{"dir/file/", O_RDONLY, ENOTDIR, NULL},
	{"dir/file/", O_PATH, ENOTDIR, NULL},
	{"dir/file/.", O_RDONLY, ENOTDIR, NULL},
	{"dir/file/x", O_RDONLY, ENOTDIR, NULL},
	{"dir", O_WRONLY, EISDIR, NULL},
	{"missing", O_RDONLY, ENOENT, NULL},
	{"missing/x", O_RDONLY, ENOENT, NULL},
	{"dir/missing/", O_RDONLY, ENOENT, NULL},
	{"dir/missing/x/y", O_PATH, ENOENT, NULL},

	{"..", O_RDONLY, EXDEV, NULL},
	{"/..", O_PATH, EXDEV, NULL},
	{"dir/..", O_RDONLY, EXDEV, NULL},
	{"dir/../dir", O_RDONLY, EXDEV, NULL},
	{"dir/../../etc/passwd", O_RDONLY, EXDEV, NULL},
	{"missing/..", O_RDONLY, EXDEV, NULL},
	{"link/..", O_RDONLY, EXDEV, NULL},
	{"dir/sub//..//", O_RDONLY, EXDEV, NULL},
	{"...", O_RDONLY, ENOENT, NULL},
	{"dir/..file", O_RDONLY, ENOENT, NULL},

	{"link", O_RDONLY, ELOOP, NULL},
	{"link", O_PATH, ELOOP, NULL},
	{"link", O_RDONLY | O_NOFOLLOW, ELOOP, NULL},
	{"link", O_PATH | O_NOFOLLOW, 0, "link"},
	{"link", O_RDONLY | O_DIRECTORY, ELOOP, NULL},
	{"link", O_PATH | O_DIRECTORY, ELOOP, NULL},
	{"link", O_PATH | O_DIRECTORY | O_NOFOLLOW, ENOTDIR, NULL},
	{"link", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, ENOTDIR, NULL},
	{"link/", O_RDONLY, ELOOP, NULL},
	{"link/", O_PATH | O_NOFOLLOW, ELOOP, NULL},
	{"link/.", O_RDONLY, ELOOP, NULL},
	{"link/file", O_RDONLY, ELOOP, NULL},
	{"link/sub/deep/file", O_PATH, ELOOP, NULL},
	{"dir/link", O_RDONLY, ELOOP, NULL},
	{"dir/link", O_RDWR | O_TRUNC, ELOOP, NULL},
	{"dir/link/", O_RDONLY, ELOOP, NULL},
	{"dir/sub/up", O_PATH, ELOOP, NULL},
	{"dir/sub/up/dir/file", O_RDONLY, ELOOP, NULL},
	{"dangling", O_RDONLY, ELOOP, NULL},
	{"dangling/x", O_RDONLY, ELOOP, NULL},
	{"absolute", O_RDONLY, ELOOP, NULL},
	{"absolute/passwd", O_RDONLY, ELOOP, NULL},
	{"loop", O_RDONLY, ELOOP, NULL},
	{"loop/x", O_RDONLY, ELOOP, NULL},

	{"dir/new", O_WRONLY | O_CREAT, 0, "dir/new"},
	{"dir/new", O_WRONLY | O_CREAT | O_EXCL, 0, "dir/new"},
	{"dir/file", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"link", O_WRONLY | O_CREAT, ELOOP, NULL},
	{"link", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"dangling", O_WRONLY | O_CREAT, ELOOP, NULL},
	{"dangling", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"link/new", O_WRONLY | O_CREAT, ELOOP, NULL},
	{"dir/new/", O_WRONLY | O_CREAT, EISDIR, NULL},
	{"dir/", O_WRONLY | O_CREAT, EISDIR, NULL},
	{"dir/.", O_WRONLY | O_CREAT, EISDIR, NULL},
	{"dir/", O_WRONLY | O_CREAT | O_EXCL, EISDIR, NULL},
	{"dir/.", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"./", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"dir/.//", O_WRONLY | O_CREAT | O_EXCL, EEXIST, NULL},
	{"dir/./", O_WRONLY | O_CREAT, EISDIR, NULL},
	{"", O_WRONLY | O_CREAT, EISDIR, NULL},
	{"missing/new", O_WRONLY | O_CREAT, ENOENT, NULL},
	{"link", O_RDWR | O_TMPFILE, ELOOP, NULL},
	{"dir/file", O_RDWR | O_TMPFILE, ENOTDIR, NULL},

	{NAME_256, O_RDONLY, ENAMETOOLONG, NULL},
	{"dir/" NAME_256 "/x", O_RDONLY, ENAMETOOLONG, NULL},
	{"missing/" NAME_256, O_RDONLY, ENOENT, NULL},
	{"/" DOTS_1024 DOTS_1024 DOTS_1024 DOTS_256 DOTS_256 DOTS_256 "dir", O_RDONLY, 0, "dir"},
	{DOTS_1024 DOTS_1024 DOTS_1024 DOTS_1024 "dir", O_RDONLY, ENAMETOOLONG, NULL},
};

static void expect_same(int fd, const struct row *row, const char *way)
{
	struct stat opened = {0}, wanted = {0};

	cr_expect_eq(fstat(fd, &opened), 0);
	cr_expect_eq(fstatat(tree, row->target, &wanted, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect(opened.st_dev == wanted.st_dev && opened.st_ino == wanted.st_ino, "%s opens \"%.40s\" wrongly", way,
		row->path);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void check_row(const struct row *row, open_fn open_it, const char *way)
{
	int before = harness_count_fds(), fd;

	errno = 0;
	fd = open_it(tree, row->path, row->flags, 0600);
	if (row->sys_errno == 0)
		cr_expect_geq(fd, 0, "%s of \"%.40s\", flags %o: %s", way, row->path, row->flags, strerror(errno));
	else
		cr_expect(fd == -1 && errno == row->sys_errno, "%s of \"%.40s\", flags %o: %d, %s instead of %s", way,
			row->path, row->flags, fd, strerror(errno), strerror(row->sys_errno));
	if (fd >= 0 && row->target != NULL)
		expect_same(fd, row, way);
	(void)fd_close(fd);
	cr_expect_eq(harness_count_fds(), before, "%s of \"%.40s\" leaves descriptors open", way, row->path);
	(void)unlinkat(tree, "dir/new", 0);
}

static void check_rows(open_fn open_it, const char *way)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(&rows[i], open_it, way);
}

Test(beneath, openat2)
{
	int fd = sys_openat2(tree, "dir", O_PATH, 0, 0);

	if (fd < 0)
		cr_skip("this kernel or an outer filter refuses openat2");
	(void)fd_close(fd);
	check_rows(beneath_open, "openat2");
}

Test(beneath, walk)
{
	check_rows(beneath_open_walk, "walk");
}

Test(beneath, openat2_missing)
{
	openat2_refuse(ENOSYS);
	check_rows(beneath_open, "ENOSYS");
}

Test(beneath, openat2_forbidden)
{
	openat2_refuse(EPERM);
	check_rows(beneath_open, "EPERM");
}

Test(beneath, modes_are_those_of_openat)
{
	static const open_fn ways[] = {beneath_open, beneath_open_walk};
	mode_t mask = umask(027);

	for (size_t i = 0; i < 2; i++) {
		cleanup_close int fd = ways[i](tree, "dir/new", O_WRONLY | O_CREAT | O_EXCL, 0666);
		cleanup_close int again = ways[i](tree, "dir/new", O_RDONLY, 0777);
		struct stat status;

		cr_assert_geq(fd, 0);
		cr_expect_geq(again, 0, "a mode without O_CREAT means nothing");
		cr_assert_eq(fstat(fd, &status), 0);
		cr_expect_eq(status.st_mode & 07777, 0640);
		cr_assert_eq(unlinkat(tree, "dir/new", 0), 0);
	}
	(void)umask(mask);
}

Test(beneath, unnamed_files)
{
	static const open_fn ways[] = {beneath_open, beneath_open_walk};
	cleanup_close int plain = openat(tree, "dir", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (plain < 0)
		cr_skip("the file system of the temporary directory has no unnamed files");
	for (size_t i = 0; i < 2; i++) {
		cleanup_close int fd = ways[i](tree, "dir/", O_RDWR | O_TMPFILE, 0600);
		struct stat status;

		cr_assert_geq(fd, 0, "%s", strerror(errno));
		cr_assert_eq(fstat(fd, &status), 0);
		cr_expect_eq(status.st_nlink, 0);
	}
}

Test(beneath, magic_links_are_refused)
{
	static const open_fn ways[] = {beneath_open, beneath_open_walk};
	static const char *const names[] = {"fd/0", "fd/1/", "cwd", "root", "exe", "cwd/x", "root/etc/passwd", "ns/mnt"};
	cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(proc, 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "%d/%s", getpid(), names[i]);
		for (size_t way = 0; way < 2; way++) {
			cr_expect_eq(ways[way](proc, path, O_RDONLY, 0), -1, "%s", path);
			cr_expect_eq(errno, ELOOP, "%s: %s", path, strerror(errno));
		}
	}
}

Test(beneath, mounts_are_crossed)
{
	static const open_fn ways[] = {beneath_open, beneath_open_walk};
	cleanup_close int root = open("/", O_PATH | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++) {
		cleanup_close int fd = ways[i](root, "proc/version", O_RDONLY, 0);

		cr_expect_geq(fd, 0, "%s", strerror(errno));
	}
}

Test(beneath, below_what_is_no_directory)
{
	static const open_fn ways[] = {beneath_open, beneath_open_walk};
	cleanup_close int file = openat(tree, "dir/file", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(ways[i](file, "", O_RDONLY, 0), -1);
		cr_expect_eq(errno, ENOTDIR);
		cr_expect_eq(ways[i](file, "x", O_RDONLY, 0), -1);
		cr_expect_eq(errno, ENOTDIR);
		cr_expect_eq(ways[i](-1, "x", O_RDONLY, 0), -1);
		cr_expect_eq(errno, EBADF);
	}
}

static void check_parents(void)
{
	static const struct {
		const char *path, *parent, *name;
		int sys_errno;
	} parents[] = {
		{"dir", ".", "dir", 0},
		{"/dir", ".", "dir", 0},
		{"missing", ".", "missing", 0},
		{"dir/new", "dir", "new", 0},
		{"//dir//sub///x", "dir/sub", "x", 0},
		{"dir/./link", "dir", "link", 0},
		{"...", ".", "...", 0},
		{"", NULL, NULL, EINVAL},
		{"//", NULL, NULL, EINVAL},
		{".", NULL, NULL, EINVAL},
		{"dir/", NULL, NULL, EINVAL},
		{"dir/.", NULL, NULL, EINVAL},
		{"link/", NULL, NULL, EINVAL},
		{"..", NULL, NULL, EXDEV},
		{"dir/..", NULL, NULL, EXDEV},
		{"link/x", NULL, NULL, ELOOP},
		{"dir/sub/up/x", NULL, NULL, ELOOP},
		{"dir/file/x", NULL, NULL, ENOTDIR},
		{"missing/x", NULL, NULL, ENOENT},
	};

	for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
		const struct row row = {parents[i].path, 0, 0, parents[i].parent};
		const char *name = NULL;
		cleanup_close int fd = beneath_open_parent(tree, parents[i].path, &name);

		if (parents[i].sys_errno != 0) {
			cr_expect(fd == -1 && errno == parents[i].sys_errno && name == NULL, "\"%s\": %d %s",
				parents[i].path, fd, strerror(errno));
			continue;
		}
		cr_assert_geq(fd, 0, "\"%s\": %s", parents[i].path, strerror(errno));
		cr_expect_str_eq(name, parents[i].name);
		expect_same(fd, &row, "parent");
	}
}

Test(beneath, parent)
{
	check_parents();
	openat2_refuse(EPERM);
	check_parents();
}

struct swapper {
	pthread_t thread;
	bool stop; /* atomic */
};

static void *swap_until_stopped(void *userdata)
{
	struct swapper *swapper = userdata;

	while (!__atomic_load_n(&swapper->stop, __ATOMIC_RELAXED)) {
		if (renameat2(tree, "dir/turn", tree, "dir/decoy", RENAME_EXCHANGE) < 0)
			return swapper; /* not NULL: it could not do its part */
	}
	return NULL;
}

static bool reads_inside(int fd)
{
	char content[8] = "";

	return read(fd, content, sizeof content) == 6 && memcmp(content, "inside", 6) == 0;
}

/*
 * Somebody swaps a directory and a symlink to a directory outside, as fast as they can, while we open a file below that
 * name. Whatever opens is the file inside, and all else is refused. It runs until both were seen often.
 */
static void open_while_swapping(open_fn open_it)
{
	uint64_t deadline = monotime_after_ns(20 * NS_PER_S);
	struct swapper swapper = {.stop = false};
	unsigned opened = 0, refused = 0;
	void *failed = NULL;

	cr_assert_eq(pthread_create(&swapper.thread, NULL, swap_until_stopped, &swapper), 0);
	while ((opened < 500 || refused < 500) && monotime_ns() < deadline) {
		cleanup_close int fd = open_it(tree, "dir/turn/file", O_RDONLY, 0);

		if (fd >= 0) {
			cr_expect(reads_inside(fd), "it opened the file outside");
			opened++;
		} else {
			cr_expect(errno == ELOOP || errno == ENOTDIR, "%s", strerror(errno));
			refused++;
		}
	}
	__atomic_store_n(&swapper.stop, true, __ATOMIC_RELAXED);
	cr_assert_eq(pthread_join(swapper.thread, &failed), 0);
	cr_expect_null(failed, "the swapping did not work");
	cr_expect(opened >= 500 && refused >= 500, "%u opened, %u refused: the race was hardly run", opened, refused);
}

static void prepare_swap(void)
{
	cr_assert_eq(mkdirat(tree, "dir/turn", 0755), 0);
	make_file("dir/turn/file", "inside");
	cr_assert_eq(mkdirat(tree, "outside", 0755), 0);
	make_file("outside/file", "secret");
	cr_assert_eq(symlinkat("../outside", tree, "dir/decoy"), 0);
}

Test(beneath, swapping_against_openat2)
{
	prepare_swap();
	open_while_swapping(beneath_open);
}

Test(beneath, swapping_against_the_walk)
{
	prepare_swap();
	open_while_swapping(beneath_open_walk);
}
