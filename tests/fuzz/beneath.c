/*
 * Opening and making below a directory, by openat2 and by the walk: both must open the same thing or fail with the same
 * word, for any path and any flags, in a tree of directories, files and symlinks that lead everywhere. The first byte
 * says how the path is made of the rest: of its bytes as they are, or of words that mean something in that tree.
 */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/fuzz/fuzz.h"

static const int flag_table[] = {O_PATH, O_RDONLY, O_RDWR, O_WRONLY | O_APPEND, O_DIRECTORY, O_PATH | O_DIRECTORY,
	O_PATH | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW, O_PATH | O_DIRECTORY | O_NOFOLLOW, O_WRONLY | O_CREAT,
	O_WRONLY | O_CREAT | O_EXCL, O_WRONLY | O_CREAT | O_NOFOLLOW, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
	O_RDWR | O_TMPFILE};

static const char *const words[] = {"/", "//", ".", "..", "d", "e", "f", "new", "up", "out", "abs", "loop", "self",
	"proc", "...", "\xff", "./", "../"};

static int open_tree(void)
{
	static int tree = -1;
	char path[sizeof fuzz_world()->root + sizeof "/beneath"];

	if (tree >= 0)
		return tree;
	(void)snprintf(path, sizeof path, "%s/beneath", fuzz_world()->root);
	cr_assert_eq(mkdir(path, 0755), 0);
	tree = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(tree, 0);
	cr_assert(mkdirat(tree, "d", 0755) == 0 && mkdirat(tree, "d/e", 0755) == 0);
	cr_assert(mknodat(tree, "f", S_IFREG | 0644, 0) == 0 && mknodat(tree, "d/e/f", S_IFREG | 0644, 0) == 0);
	cr_assert(symlinkat("..", tree, "d/up") == 0 && symlinkat("../..", tree, "out") == 0);
	cr_assert(symlinkat("/etc", tree, "abs") == 0 && symlinkat("loop", tree, "loop") == 0);
	cr_assert(symlinkat("d", tree, "self") == 0 && symlinkat("/proc/self/root", tree, "proc") == 0);
	cr_assert(symlinkat("f", tree, "d/e/up") == 0 && symlinkat("nowhere", tree, "d/out") == 0);
	return tree;
}

/* To be freed. */
static char *make_path(struct fuzz_input *input)
{
	char *path;
	size_t used = 0;

	if (fuzz_byte(input) % 4 == 0)
		return fuzz_text(input);
	path = calloc(input->left + 1, 4);
	cr_assert_not_null(path);
	while (input->left > 0) {
		const char *word = words[fuzz_byte(input) % (sizeof words / sizeof *words)];

		memcpy(path + used, word, strlen(word));
		used += strlen(word);
	}
	return path;
}

struct opened {
	int sys_errno;
	dev_t dev;
	ino_t ino;
	mode_t mode;
	int flags;
};

static struct opened look_at_take(int fd)
{
	struct opened opened = {.sys_errno = fd < 0 ? errno : 0};
	struct stat status;

	if (fd < 0)
		return opened;
	cr_assert_eq(fstat(fd, &status), 0);
	opened.dev = status.st_dev;
	opened.ino = status.st_ino;
	opened.mode = status.st_mode;
	opened.flags = fcntl(fd, F_GETFL) & ~(O_NOFOLLOW | O_DIRECTORY); /* the walk has them where it goes on */
	(void)fd_close(fd);
	return opened;
}

/* What a path may name below the tree: not what lies above it, whatever is opened. */
static bool is_above(int tree, const struct opened *opened)
{
	struct stat status;

	return fstatat(tree, "..", &status, 0) == 0 && status.st_dev == opened->dev && status.st_ino == opened->ino;
}

/* What was made is removed, so that both ways, and the next input, find the same tree. */
static struct opened open_and_undo(int (*open_it)(int, const char *, int, mode_t), int tree, const char *path, int flags)
{
	struct stat status;
	bool was_there = beneath_stat(tree, path, &status) == 0;
	struct opened opened = look_at_take(open_it(tree, path, flags, 0640));

	if (flags & O_CREAT && opened.sys_errno == 0 && !was_there)
		cr_assert_eq(beneath_unlink(tree, path, 0), 0, "\"%s\"", path);
	return opened;
}

static void compare(int tree, const char *path, int flags)
{
	const struct opened fast = open_and_undo(beneath_open, tree, path, flags);
	const struct opened walk = open_and_undo(beneath_open_walk, tree, path, flags);
	const bool made = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)); /* another inode each time */

	cr_assert_eq(fast.sys_errno, walk.sys_errno, "\"%s\", flags %o: %s and %s", path, (unsigned)flags,
		strerror(fast.sys_errno), strerror(walk.sys_errno));
	cr_assert(made || (fast.dev == walk.dev && fast.ino == walk.ino), "\"%s\"", path);
	cr_assert(fast.mode == walk.mode && fast.flags == walk.flags, "\"%s\": %o %o, %o %o", path, fast.mode,
		walk.mode, (unsigned)fast.flags, (unsigned)walk.flags);
	cr_assert(fast.sys_errno != 0 || !is_above(tree, &fast), "\"%s\" leads out", path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	int tree = open_tree(), flags = flag_table[fuzz_byte(&input) % (sizeof flag_table / sizeof *flag_table)];
	cleanup_free char *path = make_path(&input);

	compare(tree, path, flags);
	return 0;
}
