#include "tests/unit/local_scene.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/unit/harness.h"

static char tree_path[256];
int tree = -1, source = -1, target = -1;

int make_dir(int at, const char *path)
{
	cr_assert_eq(mkdirat(at, path, 0700), 0, "%s: %s", path, strerror(errno));
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void local_scene_setup(void)
{
	tree = harness_tmpdir(tree_path, sizeof tree_path);
	source = make_dir(tree, "source");
	target = make_dir(tree, "target");
}

void local_scene_teardown(void)
{
	(void)fd_close(source);
	(void)fd_close(target);
	(void)fd_close(tree);
	harness_rm_tree(tree_path);
	harness_leak_check();
}

void put(int at, const char *path, const char *content, mode_t mode)
{
	cleanup_close int fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(fd_write_all(fd, content, strlen(content)), 0);
	cr_assert_eq(fchmod(fd, mode), 0);
}

void mkdir_in(int at, const char *path)
{
	(void)fd_close(make_dir(at, path));
}

struct stat look(int at, const char *path)
{
	struct stat status = {0};

	cr_expect_eq(fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW), 0, "%s: %s", path, strerror(errno));
	return status;
}

bool exists(int at, const char *path)
{
	struct stat status;

	return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

void expect_content(int at, const char *path, const char *expected)
{
	cleanup_close int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	char content[64] = "";

	cr_expect_geq(read(fd, content, sizeof content - 1), 0, "%s", path);
	cr_expect_str_eq(content, expected, "%s", path);
}

static const char *reason_of(const struct error *err)
{
	for (size_t i = 0; i < err->n_context; i++) {
		if (strcmp(err->context[i].key, "reason") == 0)
			return err->context[i].value;
	}
	return "";
}

void expect_error(int r, const struct error *err, enum error_code code, const char *reason, const char *named)
{
	cr_expect_eq(r, -1, "%s was not refused", named);
	cr_expect_eq(err->code, code, "%s: %s", error_code_name(err->code), err->text);
	cr_expect_str_eq(reason_of(err), reason, "%s: %s", named, err->text);
	cr_expect_not_null(strstr(err->text, named), "\"%s\" does not name %s", err->text, named);
}

int copy_dir(struct work *work, struct error *err)
{
	const struct local_options options = {.work = work};
	struct local_totals totals = {0};

	return local_copy_dir(source, target, &options, &totals, err);
}

int copy_file_of(const char *src, struct error *err)
{
	struct work work = WORK_INIT;
	const struct local_options options = {.work = &work};
	struct local_totals totals = {0};

	return local_copy_file(source, src, target, "copy", &options, &totals, err);
}
