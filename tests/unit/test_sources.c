/* Where a path of a manifest leads, and which grant it is under. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "runtime/workspace/sources.h"
#include "tests/unit/harness.h"

TestSuite(sources, .fini = harness_leak_check, .timeout = 60);

/* base/, base-evil/, data/ with data/ro below it, a file, and links to them. */
struct ground {
	char path[200];
	int fd;
	struct sources *sources;
};

static const char *at(const struct ground *ground, const char *name, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s/%s", ground->path, name);
	return path;
}

static void put_file(const struct ground *ground, const char *name)
{
	int fd = openat(ground->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s", name);
	fd_close(fd);
}

static struct ground make_ground(void)
{
	static const char *const directories[] = {"base", "base/sub", "base-evil", "data", "data/ro"};
	struct ground ground = {0};
	struct error err = {0};
	char path[PATH_MAX];

	ground.fd = harness_tmpdir(ground.path, sizeof ground.path);
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		cr_assert_eq(mkdirat(ground.fd, directories[i], 0755), 0);
	put_file(&ground, "base/f");
	put_file(&ground, "data/f");
	put_file(&ground, "data/ro/f");
	put_file(&ground, "single");
	cr_assert_eq(symlinkat("base", ground.fd, "alias"), 0);
	cr_assert_eq(symlinkat("/", ground.fd, "slash"), 0);
	cr_assert_eq(symlinkat("data/ro", ground.fd, "door"), 0);
	harness_ok(sources_new(&ground.sources, &err), &err);
	harness_ok(sources_set_base(ground.sources, at(&ground, "base", path), &err), &err);
	return ground;
}

static void end_ground(struct ground *ground)
{
	(void)sources_free(ground->sources);
	fd_close(ground->fd);
	harness_rm_tree(ground->path);
}

static void grant(struct ground *ground, const char *name, bool writable)
{
	struct error err = {0};
	char path[PATH_MAX];

	harness_ok(sources_grant(ground->sources, at(ground, name, path), writable, &err), &err);
}

/* The place that `src` leads to must be `path` below some directory, and exist there. */
static void expect_at(const struct ground *ground, const char *src, const char *path, bool writable)
{
	struct source_place place;
	struct error err = {0};
	int fd;

	harness_ok(sources_find(ground->sources, src, ERROR_LOCAL_FILE_READ, &place, &err), &err);
	cr_expect_str_eq(place.path, path, "%s", src);
	cr_expect_eq(place.writable, writable, "%s", src);
	fd = beneath_open(place.dirfd, place.path, O_PATH, 0);
	cr_expect_geq(fd, 0, "%s", src);
	fd_close(fd);
}

static void expect_outside(const struct ground *ground, const char *src)
{
	struct source_place place;
	struct error err = {0};

	cr_expect_lt(sources_find(ground->sources, src, ERROR_LOCAL_DIR_READ, &place, &err), 0, "taken: %s", src);
	cr_expect_eq(err.code, ERROR_LOCAL_DIR_READ);
	cr_expect_str_eq(err.context[0].value, "outside_base_dir", "%s", src);
	cr_expect_str_eq(err.context[1].key, "base_dir");
}

Test(sources, compares_by_parts)
{
	struct ground ground = make_ground();
	static const char *const outside[] = {"../base-evil", "..", "../..", "sub/../../data", "/", "//", "/etc",
		"/etc/passwd", "../basement", "../bas", "/.."};
	char path[PATH_MAX];

	expect_at(&ground, "f", "f", false);
	expect_at(&ground, "./sub/..//f", "f", false);
	expect_at(&ground, "sub/../../base/f", "f", false);
	expect_at(&ground, ".", "", false);
	expect_at(&ground, at(&ground, "base/f", path), "f", false);
	expect_at(&ground, at(&ground, "data/../base", path), "", false);
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		expect_outside(&ground, outside[i]);
	expect_outside(&ground, at(&ground, "base-evil/x", path));
	expect_outside(&ground, at(&ground, "data/f", path));
	end_ground(&ground);
}

Test(sources, takes_the_longest_grant)
{
	struct ground ground = make_ground();
	char path[PATH_MAX];

	grant(&ground, "data/ro", false);
	grant(&ground, "data", true);
	grant(&ground, "single", true);
	expect_at(&ground, "../data/f", "f", true);
	expect_at(&ground, "../data/ro/f", "f", false);
	expect_at(&ground, "../data/ro", "", false);
	expect_at(&ground, at(&ground, "data/ro/../f", path), "f", true);
	expect_at(&ground, "../single", "single", true);
	expect_outside(&ground, "../single/x");
	expect_outside(&ground, "../singles");
	/* Of two for one path the later one counts. */
	grant(&ground, "data/ro", true);
	expect_at(&ground, "../data/ro/f", "f", true);
	end_ground(&ground);
}

/* A writable grant by way of a link is a grant of what the link leads to, and no more. */
Test(sources, follows_the_callers_links_once)
{
	struct ground ground = make_ground();
	char path[PATH_MAX];

	grant(&ground, "data", true);
	grant(&ground, "data/ro", false);
	grant(&ground, "alias", false);
	expect_at(&ground, at(&ground, "alias/f", path), "f", false);
	expect_outside(&ground, at(&ground, "door/f", path));
	cr_assert_eq(unlinkat(ground.fd, "alias", 0), 0);
	cr_assert_eq(symlinkat("base-evil", ground.fd, "alias"), 0);
	expect_at(&ground, at(&ground, "alias/f", path), "f", false); /* what it was when it was granted */
	end_ground(&ground);
}

Test(sources, never_grants_the_root)
{
	struct ground ground = make_ground();
	static const char *const roots[] = {"/", "//", "/.", "/usr/..", "/:ro", "/proc/self/root", "/proc/1/../../"};
	static const char *const relative[] = {"", "data", "./data", "~/x", "data:ro", ":ro"};
	struct error err = {0};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		cr_expect_lt(sources_grant_text(ground.sources, roots[i], &err), 0, "granted: %s", roots[i]);
		cr_expect_eq(err.code, ERROR_USAGE, "%s: %s", roots[i], err.text);
	}
	for (size_t i = 0; i < sizeof relative / sizeof *relative; i++) {
		cr_expect_lt(sources_grant_text(ground.sources, relative[i], &err), 0, "granted: %s", relative[i]);
		cr_expect_eq(err.code, ERROR_USAGE, "%s: %s", relative[i], err.text);
	}
	cr_expect_lt(sources_grant_text(ground.sources, at(&ground, "slash", path), &err), 0);
	cr_expect_eq(err.code, ERROR_USAGE);
	cr_expect_lt(sources_set_base(ground.sources, "/", &err), 0);
	cr_expect_lt(sources_grant_text(ground.sources, at(&ground, "absent", path), &err), 0);
	cr_expect_eq(err.code, ERROR_NOT_FOUND);
	expect_outside(&ground, "/etc/passwd");
	end_ground(&ground);
}

Test(sources, has_one_base)
{
	struct ground ground = make_ground();
	struct sources *none = NULL;
	struct source_place place;
	struct error err = {0};
	char path[PATH_MAX];

	harness_ok(sources_set_base(ground.sources, at(&ground, "data", path), &err), &err);
	expect_at(&ground, "ro/f", "ro/f", false);
	expect_outside(&ground, at(&ground, "base/f", path));
	harness_ok(sources_new(&none, &err), &err);
	cr_expect_lt(sources_find(none, "f", ERROR_LOCAL_FILE_READ, &place, &err), 0);
	cr_expect_lt(sources_find(none, "/f", ERROR_LOCAL_FILE_READ, &place, &err), 0);
	(void)sources_free(none);
	end_ground(&ground);
}

Test(sources, opens_regular_files_alone)
{
	struct ground ground = make_ground();
	struct error err = {0};
	int fd = sources_open_file(ground.sources, "f", ERROR_LOCAL_FILE_READ, &err);

	cr_expect_geq(fd, 0);
	fd_close(fd);
	cr_assert_eq(mkfifoat(ground.fd, "base/fifo", 0600), 0);
	cr_assert_eq(symlinkat("f", ground.fd, "base/link"), 0);
	cr_expect_lt(sources_open_file(ground.sources, "fifo", ERROR_LOCAL_FILE_READ, &err), 0);
	cr_expect_str_eq(err.context[0].value, "special_file");
	cr_expect_lt(sources_open_file(ground.sources, "sub", ERROR_LOCAL_FILE_READ, &err), 0);
	cr_expect_lt(sources_open_file(ground.sources, "link", ERROR_LOCAL_FILE_READ, &err), 0);
	cr_expect_str_eq(err.context[0].value, "symlink_not_supported");
	cr_expect_lt(sources_open_file(ground.sources, "absent", ERROR_LOCAL_FILE_READ, &err), 0);
	end_ground(&ground);
}
