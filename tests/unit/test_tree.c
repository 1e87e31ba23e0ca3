/* Walking, counting and removing trees that were made to be hard to walk. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/tree.h"
#include "tests/unit/harness.h"

static char tree_path[256];
static int tree = -1;

static void setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
}

static void teardown(void)
{
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

TestSuite(tree, .init = setup, .fini = teardown, .timeout = 100);

static void make_file(const char *path)
{
	cleanup_close int fd = openat(tree, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(fd_write_all(fd, "12345", 5), 0);
}

static void make_dir(const char *path)
{
	cr_assert_eq(mkdirat(tree, path, 0755), 0, "%s: %s", path, strerror(errno));
}

static void make_deep(const char *name, unsigned levels)
{
	cleanup_close int at = fcntl(tree, F_DUPFD_CLOEXEC, 0);

	for (unsigned i = 0; i < levels; i++) {
		const char *here = i == 0 ? name : "d";
		int below;

		cr_assert_eq(mkdirat(at, here, 0755), 0, "%s", strerror(errno));
		below = openat(at, here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(below, 0);
		(void)fd_close(at);
		at = below;
	}
	cr_assert_eq(mknodat(at, "file", S_IFREG | 0644, 0), 0);
}

static bool exists(const char *path)
{
	struct stat status;

	return fstatat(tree, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Writes the paths it sees, with the kinds, and ')' at each leaving. */
static int note_entry(void *ctx, const struct tree_entry *entry, struct error *err)
{
	struct stat again;

	(void)err;
	cr_expect_eq(fstatat(entry->dirfd, entry->name, &again, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(again.st_ino, entry->status->st_ino);
	buf_printf(ctx, "%s%s ", entry->path, S_ISDIR(again.st_mode) ? "/" : S_ISLNK(again.st_mode) ? "@" : "");
	return strcmp(entry->name, "skipped") == 0 ? TREE_PASS_OVER : TREE_GO_ON;
}

static int note_leaving(void *ctx, struct error *err)
{
	(void)err;
	buf_append_str(ctx, ") ");
	return 0;
}

Test(tree, is_walked_in_order)
{
	static const char expected[] = "B b/ b/c/ ) b/z ) b.txt dir@ fifo skipped/ ";
	cleanup_buf struct buf seen = {0};
	const struct tree_visitor visitor = {.visit = note_entry, .leave = note_leaving, .ctx = &seen};
	struct tree_budget budget = {.entries_max = 9};
	struct error err = {0};
	int fds = harness_count_fds();

	make_dir("b");
	make_dir("b/c");
	make_file("b/z");
	make_file("b.txt");
	make_file("B");
	make_dir("skipped");
	make_file("skipped/x");
	cr_assert_eq(symlinkat("b", tree, "dir"), 0);
	cr_assert_eq(mkfifoat(tree, "fifo", 0600), 0);
	harness_ok(tree_walk(tree, &budget, &visitor, &err), &err);
	cr_expect_str_eq(buf_str(&seen), expected);
	cr_expect_eq(budget.entries_max, 1);
	cr_expect_eq(harness_count_fds(), fds);
}

Test(tree, is_counted_however_deep)
{
	struct tree_budget budget = {.entries_max = 100000};
	struct tree_totals totals = {0};
	struct error err = {0};
	int fds = harness_count_fds();

	make_deep("d", 5000);
	make_file("file");
	cr_assert_eq(symlinkat("d", tree, "link"), 0);
	harness_ok(tree_count(tree, &budget, &totals, &err), &err);
	cr_expect_eq(totals.directories, 5000);
	cr_expect_eq(totals.files, 2);
	cr_expect_eq(totals.others, 1);
	cr_expect_eq(totals.bytes, 5);
	cr_expect_eq(harness_count_fds(), fds);
	harness_ok(tree_remove(tree, "d", &err), &err);
	cr_expect_not(exists("d"));
}

Test(tree, budgets_end_it)
{
	struct tree_budget entries = {.entries_max = 10}, levels = {.entries_max = 1000, .depth_max = 4};
	struct tree_totals totals = {.files = 77};
	struct error err = {0};

	make_deep("d", 5);
	cr_expect_eq(tree_count(tree, &levels, &totals, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	levels = (struct tree_budget){.entries_max = 1000, .depth_max = 5};
	harness_ok(tree_count(tree, &levels, &totals, &err), &err);
	cr_expect_eq(totals.files, 1);
	for (int i = 0; i < 5; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "f%d", i);
		make_file(name);
	}
	totals.files = 77;
	cr_expect_eq(tree_count(tree, &entries, &totals, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_eq(totals.files, 77, "untouched on failure");
}

static void become_user(void)
{
	if (geteuid() != 0)
		return;
	cr_assert_eq(fchown(tree, 65534, 65534), 0);
	cr_assert_eq(setresgid(65534, 65534, 65534), 0);
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
}

Test(tree, without_rights_it_is_not_counted_but_removed)
{
	struct tree_budget budget = {.entries_max = 1000};
	struct tree_totals totals;
	struct error err = {0};

	become_user();
	make_dir("d");
	make_dir("d/closed");
	make_dir("d/closed/in");
	make_file("d/closed/in/file");
	cr_assert_eq(fchmodat(tree, "d/closed/in", 0, 0), 0);
	cr_assert_eq(fchmodat(tree, "d/closed", 0, 0), 0);
	cr_expect_eq(tree_count(tree, &budget, &totals, &err), -1);
	cr_expect_eq(err.code, ERROR_LOCAL_DIR_READ);
	cr_expect_eq(err.sys_errno, EACCES);
	cr_expect_not_null(strstr(err.text, "d/closed"));
	harness_ok(tree_remove(tree, "d", &err), &err);
	cr_expect_not(exists("d"));
}

Test(tree, removes_what_was_opened_not_what_got_its_name)
{
	struct error err = {0};
	int fd;

	make_dir("d");
	make_dir("d/sub");
	make_file("d/sub/file");
	fd = openat(tree, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(fd >= 0);
	cr_assert_eq(renameat(tree, "d", tree, "moved"), 0);
	make_dir("d");
	make_file("d/precious");
	cr_expect_lt(tree_remove_opened(tree, "d", fd, &err), 0);
	cr_expect_eq(err.code, ERROR_IO);
	cr_expect(exists("d/precious") && exists("moved") && !exists("moved/sub"));
	harness_ok(tree_remove_opened(tree, "moved", fd, &err), &err);
	cr_expect(!exists("moved") && exists("d/precious"));
	(void)close(fd);
}

Test(tree, removes_links_not_what_they_name)
{
	struct error err = {0};

	make_dir("kept");
	make_file("kept/file");
	cr_assert_eq(symlinkat("kept", tree, "link"), 0);
	make_dir("d");
	cr_assert_eq(symlinkat("../kept", tree, "d/link"), 0);
	harness_ok(tree_remove(tree, "link", &err), &err);
	harness_ok(tree_remove(tree, "d", &err), &err);
	harness_ok(tree_remove(tree, "missing", &err), &err);
	cr_expect(exists("kept/file") && !exists("link") && !exists("d"));
}

static int exchange_entry(void *ctx, const struct tree_entry *entry, struct error *err)
{
	(void)ctx;
	(void)err;
	cr_expect_str_eq(entry->path, "d", "it was gone into");
	return renameat2(tree, "walked/d", tree, "other", RENAME_EXCHANGE) == 0 ? TREE_GO_ON : -1;
}

/* Another directory under the name, between the look and the opening. */
Test(tree, what_is_entered_is_what_was_looked_at)
{
	const struct tree_visitor visitor = {.visit = exchange_entry};
	struct tree_budget budget = {.entries_max = 100};
	cleanup_close int walked = -1;
	struct error err = {0};

	make_dir("walked");
	make_dir("walked/d");
	make_dir("other");
	make_file("other/secret");
	walked = openat(tree, "walked", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_expect_eq(tree_walk(walked, &budget, &visitor, &err), -1);
	cr_expect_eq(err.code, ERROR_LOCAL_DIR_READ, "%s", err.text);
	cr_expect(err.n_context == 1 && strcmp(err.context[0].value, "path_changed_during_copy") == 0);
}

static int remove_next(void *ctx, const struct tree_entry *entry, struct error *err)
{
	(void)ctx;
	(void)err;
	cr_expect_str_eq(entry->name, "a");
	return unlinkat(tree, "b", 0) == 0 ? TREE_GO_ON : -1;
}

Test(tree, what_vanishes_is_left_out_or_told)
{
	for (int strict = 0; strict < 2; strict++) {
		const struct tree_visitor visitor = {.visit = remove_next, .strict = strict != 0};
		struct tree_budget budget = {.entries_max = 100};
		struct error err = {0}, clear = {0};

		make_file("a");
		make_file("b");
		cr_expect_eq(tree_walk(tree, &budget, &visitor, &err), strict != 0 ? -1 : 0);
		cr_expect(strict == 0 || (err.code == ERROR_LOCAL_DIR_READ && strstr(err.text, "\"b\"") != NULL), "%s",
			err.text);
		harness_ok(tree_remove(tree, "a", &clear), &clear);
	}
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
		if (renameat2(tree, "walked/turn", tree, "decoy", RENAME_EXCHANGE) < 0)
			return swapper;
		(void)__atomic_add_fetch(&swapper->swaps, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int look_for_outside(void *ctx, const struct tree_entry *entry, struct error *err)
{
	unsigned *seen = ctx;

	(void)err;
	cr_expect_str_neq(entry->name, "secret", "the walk left the tree");
	*seen += strcmp(entry->name, "file") == 0;
	return TREE_GO_ON;
}

/* Somebody exchanges a directory of the tree for a link that leads out, and moves the directory out itself. */
Test(tree, is_left_by_no_swap)
{
	struct swapper swapper = {.stop = false};
	uint64_t deadline = monotime_after_ns(20 * NS_PER_S);
	unsigned seen = 0, refused = 0;
	void *failed = NULL;
	cleanup_close int walked = -1;

	make_dir("walked");
	make_dir("walked/turn");
	make_dir("walked/turn/sub");
	make_file("walked/turn/sub/file");
	make_dir("outside");
	make_file("outside/secret");
	cr_assert_eq(symlinkat("../outside", tree, "decoy"), 0);
	walked = openat(tree, "walked", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(pthread_create(&swapper.thread, NULL, swap_until_stopped, &swapper), 0);
	while ((seen < 100 || refused < 100 || __atomic_load_n(&swapper.swaps, __ATOMIC_RELAXED) < 10000) &&
		monotime_ns() < deadline) {
		struct tree_budget budget = {.entries_max = 100};
		const struct tree_visitor visitor = {.visit = look_for_outside, .ctx = &seen};
		struct error err = {0};

		if (tree_walk(walked, &budget, &visitor, &err) < 0) {
			cr_expect_eq(err.code, ERROR_LOCAL_DIR_READ, "%s", err.text);
			refused++;
		}
	}
	__atomic_store_n(&swapper.stop, true, __ATOMIC_RELAXED);
	cr_assert_eq(pthread_join(swapper.thread, &failed), 0);
	cr_expect_null(failed, "the swapping did not work");
	cr_expect(seen >= 100 && refused >= 100 && swapper.swaps >= 10000, "%u seen, %u refused, %u swaps", seen,
		refused, swapper.swaps);
}
