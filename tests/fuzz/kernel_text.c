/*
 * Texts of the kernel, parts of which others choose: names of processes, of cgroups and of mount points.
 *
 * The first byte is the kind of text; a second text of the same input stands behind a NUL.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup/controllers.h"
#include "cgroup/group_name.h"
#include "cgroup/location.h"
#include "cgroup/usage.h"
#include "cgroup/watch_memory.h"
#include "cgroup/watch_tree.h"
#include "runtime/supervise/mount_monitor.h"
#include "seccomp/profile_oci.h"
#include "tests/fuzz/fuzz.h"

#define PATH_ROOM 512

/* Each path is bounded and whole, and a place of just its size is enough for it. */
static void read_location(struct fuzz_input *input)
{
	cleanup_free char *cgroup = fuzz_text(input);
	cleanup_free char *mountinfo = fuzz_text(input);
	char path[PATH_ROOM];

	for (size_t n = 0; n < 4 && location_candidate(cgroup, mountinfo, n, path, sizeof path); n++) {
		size_t size = strnlen(path, sizeof path);
		cleanup_free char *exact = malloc(size + 1);

		cr_assert(size > 0 && size < sizeof path);
		cr_assert_not_null(exact);
		cr_assert(location_candidate(cgroup, mountinfo, n, exact, size + 1));
		cr_assert_str_eq(exact, path);
		cr_assert_not(location_candidate(cgroup, mountinfo, n, exact, size));
	}
}

static void read_usage(struct fuzz_input *input)
{
	cleanup_free char *text = fuzz_text(input);
	uint64_t value, user, system;

	(void)usage_parse_value(text, "oom_kill", &value);
	(void)usage_parse_number(text, &value);
	(void)usage_parse_cpu(text, &user, &system);
	(void)watch_memory_parse_kb(text, "Pss");
	cr_assert_lt(controllers_parse(text), CONTROLLER_BIT(_CONTROLLER_COUNT));
}

static void read_process(struct fuzz_input *input)
{
	cleanup_free char *text = fuzz_text(input);
	struct watch_process process = {.statm_fd = -1};
	uint64_t ticks;
	char state;

	if (watch_process_parse_stat(text, &process))
		cr_assert_gt(process.tasks, 0);
	(void)group_parse_stat(text, &state, &ticks);
}

/* What is taken for a name of ours is what would be written. */
static void read_group_name(struct fuzz_input *input)
{
	cleanup_free char *name = fuzz_text(input);
	struct group_maker maker;
	char again[128], *end;

	if (!group_name_parse(name, &maker))
		return;
	end = strrchr(name, '-');
	cr_assert_not_null(end);
	(void)group_name_format(maker, strtoull(end + 1, NULL, 10), again, sizeof again);
	cr_assert_str_eq(again, name);
}

static void read_release(struct fuzz_input *input)
{
	cleanup_free char *text = fuzz_text(input);
	uint64_t version;

	(void)kernel_version_parse(text, false, &version);
	(void)kernel_version_parse(text, true, &version);
}

static const struct mount_op watched[] = {
	{.kind = MOUNT_MASK, .target = "/a", .source = "/a", .flags = MOUNT_MONITOR},
	{.kind = MOUNT_MASK, .target = "/b c\\d", .source = "/b c\\d", .flags = MOUNT_MONITOR},
	{.kind = MOUNT_MASK, .target = "/b", .source = "/b", .flags = MOUNT_MONITOR},
};

#define WATCHED (sizeof watched / sizeof *watched)

static int note_repair(void *userdata, const struct mount_op *op, struct error *err)
{
	bool *repaired = userdata;

	(void)err;
	repaired[op - watched] = true;
	return 0;
}

static int note_loss(void *userdata, const struct error *why, struct error *err)
{
	(void)userdata, (void)why;
	return error_set(err, ERROR_INTERNAL, "monitor", "a mask can be repaired here");
}

static int note_violation(void *userdata, const struct outcome_violation *violation, struct error *err)
{
	(void)userdata, (void)violation, (void)err;
	return 0;
}

/* A target that the text does not have is no mount. */
static void read_mounts(struct fuzz_input *input)
{
	cleanup_free char *text = fuzz_text(input);
	const struct mount_plan plan = {.ops = (struct mount_op *)(uintptr_t)watched, .n_ops = WATCHED};
	bool repaired[WATCHED] = {0};
	const struct mount_monitor_hooks hooks = {note_repair, note_loss, repaired};
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_with(loop_freep) struct loop *loop = NULL;
	cleanup_with(mount_monitor_freep) struct mount_monitor *monitor = NULL;
	struct violations violations = {.added = note_violation};
	struct error err = {0};
	cleanup_close int wake = eventfd(0, EFD_CLOEXEC);
	cleanup_close int check = fd_memfile("mountinfo", text, strlen(text), &err);

	cr_assert(check >= 0 && wake >= 0 && arena_new(&arena, &err) == 0 && loop_new(&loop, &err) == 0);
	violations.arena = arena;
	cr_assert_eq(mount_monitor_new(&plan, wake, check, loop, &violations, &hooks, &monitor, &err), 0);
	cr_assert_eq(mount_monitor_check(monitor, &err), 1, "%s", err.text);
	cr_assert(repaired[0] || strstr(text, " /a") != NULL);
	cr_assert(repaired[1] || repaired[2] || strstr(text, "/b") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(struct fuzz_input *) = {
		read_location, read_usage, read_process, read_group_name, read_release, read_mounts};
	struct fuzz_input input = {data, size};

	kinds[fuzz_byte(&input) % (sizeof kinds / sizeof *kinds)](&input);
	return 0;
}
