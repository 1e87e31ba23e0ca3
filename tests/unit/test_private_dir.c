/* The private directory: who finds one that a dead maker left removes it, and nothing else. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/workspace/private_dir.h"
#include "tests/unit/harness.h"

#define PREFIX ".pinfold-test-"

TestSuite(private_dir, .fini = harness_leak_check);

struct scene {
	char path[64];
	int parent;
};

static struct scene set_scene(void)
{
	struct scene scene;

	scene.parent = harness_tmpdir(scene.path, sizeof scene.path);
	cr_assert_eq(fchmod(scene.parent, 0755), 0);
	return scene;
}

static void strike_scene(struct scene *scene)
{
	(void)close(scene->parent);
	harness_rm_tree(scene->path);
}

static int make(const struct scene *scene, char name[PRIVATE_DIR_NAME_SIZE])
{
	struct error err = {0};
	int fd = private_dir_make(scene->parent, PREFIX, name, &err);

	harness_ok(fd < 0 ? -1 : 0, &err);
	return fd;
}

static void age(const struct scene *scene, const char *name)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	cr_assert_eq(utimensat(scene->parent, name, old, AT_SYMLINK_NOFOLLOW), 0);
}

static bool is_there(const struct scene *scene, const char *name)
{
	struct stat st;

	return fstatat(scene->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Makes one more, for what its making sweeps away. */
static void make_another(const struct scene *scene)
{
	char name[PRIVATE_DIR_NAME_SIZE];

	(void)close(make(scene, name));
	cr_assert_eq(unlinkat(scene->parent, name, AT_REMOVEDIR), 0);
}

Test(private_dir, is_closed_to_others)
{
	struct scene scene = set_scene();
	char name[PRIVATE_DIR_NAME_SIZE];
	mode_t mask = umask(0777);
	int fd = make(&scene, name);
	struct stat st;

	(void)umask(mask);
	cr_expect_eq(strncmp(name, PREFIX, strlen(PREFIX)), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700, "whatever the umask is");
	(void)close(fd);
	strike_scene(&scene);
}

Test(private_dir, only_what_a_dead_maker_left_goes)
{
	struct scene scene = set_scene();
	char living[PRIVATE_DIR_NAME_SIZE], dead[PRIVATE_DIR_NAME_SIZE], young[PRIVATE_DIR_NAME_SIZE];
	int living_fd = make(&scene, living);
	int dead_fd = make(&scene, dead);
	int young_fd = make(&scene, young);

	cr_assert_eq(close(openat(dead_fd, "file", O_CREAT | O_WRONLY, 0600)), 0);
	(void)close(dead_fd);
	(void)close(young_fd);
	age(&scene, living);
	age(&scene, dead);
	make_another(&scene);
	cr_expect(is_there(&scene, living), "its maker holds it");
	cr_expect_not(is_there(&scene, dead));
	cr_expect(is_there(&scene, young), "its maker may be about to lock it");
	(void)close(living_fd);
	make_another(&scene);
	cr_expect_not(is_there(&scene, living));
	strike_scene(&scene);
}

Test(private_dir, what_only_looks_like_one_stays)
{
	struct scene scene = set_scene();

	cr_assert_eq(mkdirat(scene.parent, PREFIX "open", 0755), 0);
	cr_assert_eq(mkdirat(scene.parent, "other", 0700), 0);
	cr_assert_eq(symlinkat("other", scene.parent, PREFIX "link"), 0);
	cr_assert_eq(close(openat(scene.parent, PREFIX "file", O_CREAT | O_WRONLY, 0600)), 0);
	age(&scene, PREFIX "open");
	age(&scene, "other");
	age(&scene, PREFIX "link");
	age(&scene, PREFIX "file");
	make_another(&scene);
	cr_expect(is_there(&scene, PREFIX "open"));
	cr_expect(is_there(&scene, "other"));
	cr_expect(is_there(&scene, PREFIX "link"));
	cr_expect(is_there(&scene, PREFIX "file"));
	strike_scene(&scene);
}

/* From then on what was replaced may be in it. */
Test(private_dir, what_was_begun_is_never_swept)
{
	struct scene scene = set_scene();
	char name[PRIVATE_DIR_NAME_SIZE], before[PRIVATE_DIR_NAME_SIZE];
	struct error err = {0};
	int fd = make(&scene, name);

	memcpy(before, name, sizeof before);
	harness_ok(private_dir_keep(scene.parent, name, &err), &err);
	cr_expect_eq(strncmp(name, PRIVATE_DIR_KEPT_PREFIX, strlen(PRIVATE_DIR_KEPT_PREFIX)), 0);
	cr_expect_not(is_there(&scene, before));
	(void)close(fd);
	age(&scene, name);
	make_another(&scene);
	cr_expect(is_there(&scene, name));
	strike_scene(&scene);
}

/* There somebody else could have given any directory of ours that name. */
Test(private_dir, nothing_goes_where_others_may_write)
{
	struct scene scene = set_scene();
	char dead[PRIVATE_DIR_NAME_SIZE];

	(void)close(make(&scene, dead));
	age(&scene, dead);
	cr_assert_eq(fchmod(scene.parent, 01777), 0);
	make_another(&scene);
	cr_expect(is_there(&scene, dead));
	cr_assert_eq(fchmod(scene.parent, 0755), 0);
	make_another(&scene);
	cr_expect_not(is_there(&scene, dead));
	strike_scene(&scene);
}
