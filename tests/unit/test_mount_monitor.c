#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/supervise/mount_monitor.h"
#include "tests/unit/fake_init.h"
#include "tests/unit/harness.h"

TestSuite(mount_monitor, .fini = harness_leak_check, .timeout = 60);

#define MASKED    "/tmp/a mask\twith \\ signs"
#define PROTECTED "/tmp/protected"

/* Mounts both, then does what it is told: 'm' and 'p' unmount one of them, 'x' mounts something else. */
static void mount_and_obey(int control, void *userdata)
{
	char order;

	(void)userdata;
	if (mkdir(MASKED, 0700) < 0 || mkdir(PROTECTED, 0700) < 0 || mkdir("/tmp/x", 0700) < 0 ||
		mount("m", MASKED, "tmpfs", 0, NULL) < 0 || mount("p", PROTECTED, "tmpfs", 0, NULL) < 0)
		_exit(70);
	do {
		(void)send(control, "k", 1, 0);
		if (recv(control, &order, 1, 0) != 1)
			_exit(71);
	} while ((order == 'm'                  ? umount(MASKED)
				 : order == 'p' ? umount(PROTECTED)
						: mount("x", "/tmp/x", "tmpfs", 0, "")) == 0);
	_exit(72);
}

struct scene {
	struct fake_tree tree;
	struct mount_op ops[3];
	struct mount_plan mounts;
	struct loop *loop;
	struct arena *arena;
	struct violations violations;
	struct mount_monitor *monitor;
	int mountinfo_fd, check_fd;
	int failing_repairs;
	int repairs, losses;
	const struct mount_op *repaired;
	struct error why;
};

static int on_repair(void *userdata, const struct mount_op *op, struct error *err)
{
	struct scene *scene = userdata;

	scene->repairs++;
	scene->repaired = op;
	return scene->repairs > scene->failing_repairs ? 0 : error_set_errno(err, ERROR_IO, EPERM, "repair", "mount");
}

static int on_lost(void *userdata, const struct error *why, struct error *err)
{
	struct scene *scene = userdata;

	(void)err;
	scene->losses++;
	scene->why = *why;
	return 0;
}

static int on_added(void *userdata, const struct outcome_violation *violation, struct error *err)
{
	(void)userdata, (void)violation, (void)err;
	return 0;
}

static void obey(struct scene *scene, const char *order)
{
	char answer;

	if (order[0] != '\0')
		cr_assert_eq(send(scene->tree.control_fd, order, 1, MSG_NOSIGNAL), 1);
	cr_assert_eq(recv(scene->tree.control_fd, &answer, 1, 0), 1, "the tree ended");
}

static void set_scene(struct scene *scene)
{
	const struct mount_monitor_hooks hooks = {on_repair, on_lost, scene};
	struct error err = {0};

	memset(scene, 0, sizeof *scene);
	scene->tree = fake_tree_start(mount_and_obey, NULL);
	obey(scene, "");
	scene->ops[0] = (struct mount_op){.kind = MOUNT_BIND, .target = "/tmp/not-monitored"};
	scene->ops[1] = (struct mount_op){.kind = MOUNT_MASK, .flags = MOUNT_MONITOR, .target = MASKED};
	scene->ops[2] = (struct mount_op){.kind = MOUNT_PIN, .flags = MOUNT_MONITOR, .target = PROTECTED};
	scene->mounts = (struct mount_plan){.ops = scene->ops, .n_ops = 3};
	scene->mountinfo_fd = openat(scene->tree.proc_fd, "1/mountinfo", O_RDONLY | O_CLOEXEC);
	scene->check_fd = openat(scene->tree.proc_fd, "1/mountinfo", O_RDONLY | O_CLOEXEC);
	cr_assert(scene->mountinfo_fd >= 0 && scene->check_fd >= 0, "%s", strerror(errno));
	harness_ok(loop_new(&scene->loop, &err), &err);
	harness_ok(arena_new(&scene->arena, &err), &err);
	scene->violations = (struct violations){.arena = scene->arena, .added = on_added};
	harness_ok(mount_monitor_new(&scene->mounts, scene->mountinfo_fd, scene->check_fd, scene->loop,
			   &scene->violations, &hooks, &scene->monitor, &err),
		&err);
	cr_assert_not_null(scene->monitor);
}

static void turn(struct scene *scene)
{
	struct error err = {0};

	for (int i = 0; i < 3; i++)
		harness_ok(loop_dispatch(scene->loop, 50, &err), &err);
}

static void strike_scene(struct scene *scene)
{
	scene->monitor = mount_monitor_free(scene->monitor);
	scene->loop = loop_free(scene->loop);
	scene->arena = arena_free(scene->arena);
	fd_close(scene->mountinfo_fd);
	fd_close(scene->check_fd);
	fake_tree_stop(&scene->tree);
}

Test(mount_monitor, other_mounts_do_not_matter)
{
	struct scene scene;

	set_scene(&scene);
	obey(&scene, "x");
	turn(&scene);
	cr_expect_eq(scene.repairs, 0);
	cr_expect_eq(scene.violations.n, 0);
	strike_scene(&scene);
}

Test(mount_monitor, a_vanished_mask_is_repaired_and_reported)
{
	struct scene scene;

	set_scene(&scene);
	obey(&scene, "m");
	turn(&scene);
	cr_expect_eq(scene.repairs, 1);
	cr_expect_eq(scene.repaired, &scene.ops[1]);
	cr_expect_eq(scene.losses, 0);
	cr_assert_eq(scene.violations.n, 1);
	cr_expect_str_eq(scene.violations.list[0].kind, "mask_replaced");
	cr_expect_str_eq(scene.violations.list[0].path, MASKED);
	cr_expect_str_eq(scene.violations.list[0].action, "masked_again");
	strike_scene(&scene);
}

/* As a program with a loop of its own does it, and pinfold's command line too. */
Test(mount_monitor, sees_what_a_poll_of_the_loop_took_away)
{
	struct scene scene;
	struct error err = {0};
	struct pollfd loop = {.events = POLLIN};

	set_scene(&scene);
	turn(&scene);
	loop.fd = loop_fd(scene.loop);
	obey(&scene, "m");
	cr_assert_eq(poll(&loop, 1, 1000), 1, "the change wakes nobody");
	cr_expect_eq(scene.repairs, 0);
	cr_expect_eq(mount_monitor_check(scene.monitor, &err), 1);
	cr_expect_eq(scene.repairs, 1);
	cr_expect_eq(mount_monitor_check(scene.monitor, &err), 0, "each change once");
	cr_expect_eq(mount_monitor_check(NULL, &err), 0);
	strike_scene(&scene);
}

Test(mount_monitor, the_first_look_needs_no_change)
{
	struct scene scene;
	struct error err = {0};

	set_scene(&scene);
	cr_expect_eq(mount_monitor_check(scene.monitor, &err), 1);
	cr_expect_eq(mount_monitor_check(scene.monitor, &err), 0);
	cr_expect_eq(scene.repairs, 0);
	strike_scene(&scene);
}

Test(mount_monitor, a_vanished_protection_is_not_repaired)
{
	struct scene scene;

	set_scene(&scene);
	obey(&scene, "p");
	turn(&scene);
	cr_expect_eq(scene.repairs, 0, "a descriptor for writing may be open by now");
	cr_expect_eq(scene.losses, 1);
	cr_expect_eq(scene.why.code, ERROR_UNENFORCEABLE);
	cr_expect_not_null(strstr(scene.why.text, PROTECTED));
	cr_assert_eq(scene.violations.n, 1);
	cr_expect_str_eq(scene.violations.list[0].kind, "protection_replaced");
	cr_expect_str_eq(scene.violations.list[0].action, "killed");
	strike_scene(&scene);
}

/* The host's rename that replaced the file need not be over yet. */
Test(mount_monitor, a_repair_is_tried_again)
{
	struct scene scene;

	set_scene(&scene);
	scene.failing_repairs = 2;
	obey(&scene, "m");
	turn(&scene);
	cr_expect_eq(scene.repairs, 3);
	cr_expect_eq(scene.losses, 0);
	cr_assert_eq(scene.violations.n, 1);
	cr_expect_str_eq(scene.violations.list[0].action, "masked_again");
	strike_scene(&scene);
}

Test(mount_monitor, what_cannot_be_repaired_is_lost)
{
	struct scene scene;

	set_scene(&scene);
	scene.failing_repairs = INT_MAX;
	obey(&scene, "m");
	turn(&scene);
	cr_expect_eq(scene.losses, 1);
	cr_expect_eq(scene.why.code, ERROR_UNENFORCEABLE);
	cr_expect_not_null(strstr(scene.why.text, MASKED));
	cr_assert_eq(scene.violations.n, 1);
	cr_expect_str_eq(scene.violations.list[0].kind, "mask_replaced");
	cr_expect_str_eq(scene.violations.list[0].action, "killed");
	strike_scene(&scene);
}

Test(mount_monitor, nothing_to_monitor_needs_none)
{
	struct mount_plan mounts = {0};
	struct mount_monitor_hooks hooks = {0};
	struct mount_monitor *monitor = NULL;
	struct violations violations = {0};
	struct error err = {0};

	harness_ok(mount_monitor_new(&mounts, 0, 0, NULL, &violations, &hooks, &monitor, &err), &err);
	cr_expect_null(monitor);
}
