/* What a list of names says of a path is what lstat says, or that it does not know. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/listing.h"
#include "tests/unit/harness.h"

#define ENOUGH 60 /* asked for so often, every directory on the way has been read */

TestSuite(listing, .fini = harness_leak_check);

struct scene {
	char path[64];
	int dirfd;
	struct arena *arena;
	struct listings listings;
};

static void set_scene(struct scene *scene)
{
	struct error err = {0};

	*scene = (struct scene){0};
	scene->dirfd = harness_tmpdir(scene->path, sizeof scene->path);
	harness_ok(arena_new(&scene->arena, &err), &err);
	scene->listings = (struct listings){.arena = scene->arena, .slash_fd = -1};
	cr_assert_eq(mkdirat(scene->dirfd, "a", 0755), 0);
	cr_assert_eq(mkdirat(scene->dirfd, "a/b", 0755), 0);
	cr_assert_eq(close(openat(scene->dirfd, "a/b/file", O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(close(openat(scene->dirfd, "a/Case", O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(symlinkat("b", scene->dirfd, "a/link"), 0);
}

static void strike_scene(struct scene *scene)
{
	listings_done(&scene->listings);
	scene->arena = arena_free(scene->arena);
	(void)close(scene->dirfd);
	harness_rm_tree(scene->path);
}

static enum listing_answer ask_often(struct scene *scene, const char *relative)
{
	char path[200];
	enum listing_answer answer = LISTING_UNSURE;

	(void)snprintf(path, sizeof path, "%s/%s", scene->path, relative);
	for (int i = 0; i < ENOUGH; i++)
		answer = listings_ask(&scene->listings, path);
	return answer;
}

Test(listing, tells_what_is_there_and_what_is_not)
{
	static const struct {
		const char *path;
		enum listing_answer answer;
	} rows[] = {
		{"a", LISTING_PRESENT},
		{"a/b", LISTING_PRESENT},
		{"a/b/file", LISTING_PRESENT},
		{"a/b/none", LISTING_ABSENT},
		{"a/none/file", LISTING_ABSENT},
		{"none/none/none", LISTING_ABSENT},
		{"a/link", LISTING_UNSURE},
		{"a/link/file", LISTING_UNSURE},
		{"a/case", LISTING_UNSURE}, /* where case does not count, it is there */
		{"a/Case", LISTING_PRESENT},
		{"a/b/fil", LISTING_ABSENT},
		{"a/b/file2", LISTING_ABSENT},
		{"a/b/file/none", LISTING_UNSURE},
	};
	struct scene scene;

	set_scene(&scene);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(ask_often(&scene, rows[i].path), rows[i].answer, "%s", rows[i].path);
	strike_scene(&scene);
}

Test(listing, does_not_read_a_directory_for_a_name_or_two)
{
	struct scene scene;
	char path[200];

	set_scene(&scene);
	(void)snprintf(path, sizeof path, "%s/a/none", scene.path);
	cr_expect_eq(listings_ask(&scene.listings, path), LISTING_UNSURE);
	strike_scene(&scene);
}

Test(listing, a_quick_no_is_certain)
{
	struct scene scene;
	const struct listing *listing;
	char path[200];
	int no = 0;

	set_scene(&scene);
	(void)snprintf(path, sizeof path, "%s/a", scene.path);
	listing = listings_read(&scene.listings, path);
	cr_assert_not_null(listing);
	for (size_t i = 0; i < 4; i++) {
		static const char *const there[] = {"b", "b/file", "link/what/ever", "cASE"};

		cr_expect(listing_may_hold(listing, there[i]), "%s", there[i]);
	}
	for (int i = 0; i < 1000; i++) {
		char name[20];

		(void)snprintf(name, sizeof name, "none-%d/x", i);
		no += !listing_may_hold(listing, name);
	}
	cr_expect_gt(no, 900, "%d of 1000", no);
	(void)snprintf(path, sizeof path, "%s/none", scene.path);
	cr_expect_not(listing_may_hold(listings_read(&scene.listings, path), "x"));
	strike_scene(&scene);
}

/* As /home/x is on many machines: what is found there has its path elsewhere. */
Test(listing, a_linked_directory_is_not_read)
{
	struct scene scene;
	const struct listing *listing;
	char path[200];

	set_scene(&scene);
	(void)snprintf(path, sizeof path, "%s/a/link", scene.path);
	listing = listings_read(&scene.listings, path);
	cr_expect(listing_may_hold(listing, "none"));
	cr_expect_eq(ask_often(&scene, "a/link/file"), LISTING_UNSURE);
	strike_scene(&scene);
}

Test(listing, says_nothing_of_what_it_may_not_read)
{
	struct scene scene;

	if (geteuid() == 0)
		cr_skip_test("root may read every directory");
	set_scene(&scene);
	cr_assert_eq(fchmodat(scene.dirfd, "a/b", 0311, 0), 0);
	cr_expect_eq(ask_often(&scene, "a/b/none"), LISTING_UNSURE);
	cr_assert_eq(fchmodat(scene.dirfd, "a/b", 0755, 0), 0);
	strike_scene(&scene);
}
