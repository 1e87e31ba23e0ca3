/* Putting what was built into its place, and taking it back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/tree.h"
#include "runtime/workspace/stage.h"
#include "tests/unit/harness.h"

TestSuite(stage, .fini = harness_leak_check, .timeout = 60);

struct ground {
	char path[200];
	int fd;
	struct stage stage;
};

static void put_file(int dirfd, const char *path, const char *text)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	fd_close(fd);
}

static void put_directory(int dirfd, const char *path)
{
	cr_assert_eq(mkdirat(dirfd, path, 0755), 0, "%s: %s", path, strerror(errno));
}

static int append_entry(void *ctx, const struct tree_entry *entry, struct error *err)
{
	struct buf *out = ctx;
	cleanup_buf struct buf text = {0};

	buf_printf(out, "%s %o", entry->path, entry->status->st_mode);
	if (S_ISREG(entry->status->st_mode)) {
		if (fd_read_file(entry->dirfd, entry->name, 1000, &text, err) < 0)
			return -1;
		buf_printf(out, "=%s", buf_str(&text));
	}
	buf_append_char(out, '\n');
	return TREE_GO_ON;
}

/* All that is below, a line each. */
static void describe(int fd, struct buf *out)
{
	struct tree_budget budget = {.entries_max = 1000};
	const struct tree_visitor visitor = {.visit = append_entry, .ctx = out};
	int readable = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};

	harness_ok(tree_walk(readable, &budget, &visitor, &err), &err);
	fd_close(readable);
}

static struct ground make_ground(void)
{
	struct ground ground = {.stage = STAGE_INIT};
	struct error err = {0};

	ground.fd = harness_tmpdir(ground.path, sizeof ground.path);
	put_directory(ground.fd, "lib");
	put_directory(ground.fd, "lib/sub");
	put_file(ground.fd, "lib/old", "old");
	put_file(ground.fd, "lib/sub/both", "old");
	put_file(ground.fd, "note", "old");
	cr_assert_eq(symlinkat("/tmp", ground.fd, "away"), 0);
	cr_assert_eq(mkfifoat(ground.fd, "fifo", 0600), 0);
	harness_ok(stage_open(&ground.stage, ground.fd, &err), &err);
	/* 0 is a file, 1 a tree */
	put_file(ground.stage.fd, "0", "new");
	put_directory(ground.stage.fd, "1");
	put_directory(ground.stage.fd, "1/sub");
	put_file(ground.stage.fd, "1/sub/both", "new");
	put_file(ground.stage.fd, "1/sub/mine", "new");
	put_directory(ground.stage.fd, "1/fresh");
	put_file(ground.stage.fd, "1/fresh/x", "new");
	return ground;
}

static void end_ground(struct ground *ground)
{
	struct error err = {0};

	harness_ok(stage_close(&ground->stage, &err), &err);
	fd_close(ground->fd);
	harness_rm_tree(ground->path);
}

/* Does it, takes it back, and compares the workspace with what it was. */
static void expect_undone(struct ground *ground, const char *name, const char *path, bool directory, bool anew)
{
	cleanup_buf struct buf before = {0}, after = {0}, between = {0};
	struct error err = {0};

	describe(ground->fd, &before);
	harness_ok(stage_put(&ground->stage, name, path, directory, anew, &err), &err);
	describe(ground->fd, &between);
	cr_expect_str_neq(buf_str(&between), buf_str(&before), "%s: nothing was done", path);
	harness_ok(stage_undo(&ground->stage, &err), &err);
	/* What was built may have been opened wider for being put (merge); it is not the workspace's. */
	describe(ground->fd, &after);
	cr_expect_str_eq(buf_str(&after), buf_str(&before), "%s", path);
}

Test(stage, takes_back_whatever_was_put)
{
	struct ground ground = make_ground();

	cr_assert_eq(fchmodat(ground.stage.fd, "1", 0700, 0), 0); /* as a merge leaves them */
	cr_assert_eq(fchmodat(ground.stage.fd, "1/sub", 0700, 0), 0);
	expect_undone(&ground, "0", "fresh", false, false);
	expect_undone(&ground, "0", "a/b/c", false, false);
	expect_undone(&ground, "0", "note", false, false);
	expect_undone(&ground, "1", "tree", true, false);
	expect_undone(&ground, "1", "lib", true, false);
	expect_undone(&ground, "1", "lib", true, true);
	expect_undone(&ground, "1", "note", true, true);
	expect_undone(&ground, "0", "lib", false, true);
	end_ground(&ground);
}

Test(stage, merges_name_by_name)
{
	struct ground ground = make_ground();
	struct error err = {0};
	cleanup_buf struct buf lib = {0};
	int fd;

	harness_ok(stage_put(&ground.stage, "1", "lib", true, false, &err), &err);
	fd = openat(ground.fd, "lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	describe(fd, &lib);
	cr_expect_str_eq(buf_str(&lib),
		"fresh 40755\nfresh/x 100644=new\nold 100644=old\nsub 40755\nsub/both 100644=new\nsub/mine "
		"100644=new\n");
	fd_close(fd);
	end_ground(&ground);
}

static void expect_refusal(struct ground *ground, const char *name, const char *path, bool directory, const char *reason)
{
	cleanup_buf struct buf before = {0}, after = {0};
	struct error err = {0};

	describe(ground->fd, &before);
	cr_expect_lt(stage_put(&ground->stage, name, path, directory, false, &err), 0, "taken: %s", path);
	cr_expect_eq(err.code, ERROR_INVALID_MANIFEST_PATH, "%s: %s", path, err.text);
	cr_expect_str_eq(err.context[0].value, reason, "%s: %s", path, err.text);
	harness_ok(stage_undo(&ground->stage, &err), &err);
	describe(ground->fd, &after);
	cr_expect_str_eq(buf_str(&after), buf_str(&before), "%s", path);
}

Test(stage, refuses_links_and_clashes)
{
	struct ground ground = make_ground();

	expect_refusal(&ground, "0", "away", false, "symlink_not_supported");
	expect_refusal(&ground, "0", "away/x", false, "symlink_not_supported");
	expect_refusal(&ground, "0", "away/x/y", false, "symlink_not_supported");
	expect_refusal(&ground, "1", "away", true, "symlink_not_supported");
	expect_refusal(&ground, "0", "fifo", false, "special_file");
	expect_refusal(&ground, "0", "note/x", false, "not_a_directory");
	expect_refusal(&ground, "0", "lib", false, "is_a_directory");
	expect_refusal(&ground, "1", "note", true, "not_a_directory");
	cr_assert_eq(fchmodat(ground.stage.fd, "1", 0700, 0), 0);
	cr_assert_eq(unlinkat(ground.fd, "lib/sub/both", 0), 0);
	cr_assert_eq(symlinkat("/etc/passwd", ground.fd, "lib/sub/both"), 0);
	cr_assert_eq(fchmodat(ground.stage.fd, "1/sub", 0700, 0), 0);
	expect_refusal(&ground, "1", "lib", true, "symlink_not_supported");
	end_ground(&ground);
}

Test(stage, gives_modes_back)
{
	struct ground ground = make_ground();
	struct error err = {0};
	struct stat st;

	harness_ok(stage_set_mode(&ground.stage, "lib", 0500, &err), &err);
	cr_assert_eq(fstatat(ground.fd, "lib", &st, 0), 0);
	cr_expect_eq(st.st_mode & 07777, 0500);
	harness_ok(stage_undo(&ground.stage, &err), &err);
	cr_assert_eq(fstatat(ground.fd, "lib", &st, 0), 0);
	cr_expect_eq(st.st_mode & 07777, 0755);
	cr_expect_lt(stage_set_mode(&ground.stage, "away", 0500, &err), 0);
	end_ground(&ground);
}

Test(stage, tells_what_it_could_not_take_back)
{
	struct ground ground = make_ground();
	struct error err = {0};

	harness_ok(stage_put(&ground.stage, "0", "a/b", false, false, &err), &err);
	put_file(ground.fd, "a/other", "somebody else's");
	cr_expect_lt(stage_undo(&ground.stage, &err), 0);
	cr_expect(strstr(err.text, "a: cannot be made as it was before") != NULL, "%s", err.text);
	cr_expect_eq(faccessat(ground.fd, "a/b", F_OK, 0), -1, "the rest was not taken back");
	end_ground(&ground);
}

Test(stage, is_seen_by_nobody_and_leaves_nothing)
{
	struct ground ground = make_ground();
	struct error err = {0};
	struct stat st;

	cr_assert_eq(fstatat(ground.fd, ground.stage.name, &st, 0), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	harness_ok(stage_close(&ground.stage, &err), &err);
	cr_expect_lt(fstatat(ground.fd, ground.stage.name, &st, 0), 0);
	fd_close(ground.fd);
	harness_rm_tree(ground.path);
}
