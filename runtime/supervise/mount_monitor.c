/*
 * Masks and read-only mounts hold as long as they are mounted, and the host can make them vanish without meaning to: an
 * editor or git on the host that replaces a masked file by rename detaches the mount inside, silently, and the new file
 * is readable there. The kernel tells by POLLPRI on the sandbox's mountinfo that some mount changed.
 *
 * Then every monitored target must still be a mount point. A mask that is not one is mounted again by a helper inside;
 * where that cannot be done the tree must die, because what the policy forbids is open. So it must where a read-only
 * protection vanished: a new one would stand, but a descriptor for writing that was opened in between would too.
 *
 * What is denied and was not there yet is masked in the same way when it appears.
 *
 * Race: mountinfo reports each change once for each open description, to whoever polls first, and a poll of the loop's
 * epoll descriptor polls all that is in it: the caller's own poll() takes the event away before epoll_wait sees it. So
 * that description only wakes; whether something changed is asked of a second one, which nobody else ever polls.
 */
#include "runtime/supervise/mount_monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"

#define MOUNTINFO_MAX    (16u << 20)
#define REPAIR_TRIES     6
#define REPAIR_WAIT_NS   (NS_PER_MS / 4) /* doubled each time: 16 ms in all */
#define MOUNTPOINT_FIELD 4               /* from 0: id, parent, device, root, mount point */

/* An operation that is monitored; they are sorted by their targets. */
struct watched {
	const struct mount_op *op;
	bool present; /* while mountinfo is read */
};

struct mount_monitor {
	struct loop *loop;
	struct violations *violations;
	struct mount_monitor_hooks hooks;
	struct loop_source wake;
	int check_fd;
	bool checked; /* since the sandbox stands, and since the last suspicion */
	struct watched *watched;
	size_t n;
};

static bool is_monitored(const struct mount_op *op)
{
	return (op->flags & MOUNT_MONITOR) != 0;
}

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

/* Space, tab, newline and backslash are written as \ooo; in place. */
static void unescape(char *s)
{
	char *out = s;

	while (*s != '\0') {
		if (s[0] == '\\' && is_octal(s + 1)) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

static int by_target(const void *a, const void *b)
{
	const struct watched *x = a;
	const struct watched *y = b;

	return strcmp(x->op->target, y->op->target);
}

/* The first of those with this target, or of those behind it. */
static size_t find_first(const struct mount_monitor *monitor, const char *target)
{
	size_t from = 0;
	size_t to = monitor->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(monitor->watched[middle].op->target, target) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void mark_present(struct mount_monitor *monitor, const char *target)
{
	for (size_t i = find_first(monitor, target); i < monitor->n; i++) {
		if (strcmp(monitor->watched[i].op->target, target) != 0)
			return;
		monitor->watched[i].present = true;
	}
}

static void mark_line(struct mount_monitor *monitor, char *line)
{
	char *rest = line, *field = NULL;

	for (unsigned i = 0; i <= MOUNTPOINT_FIELD; i++)
		field = strsep(&rest, " ");
	if (field == NULL)
		return;
	unescape(field);
	mark_present(monitor, field);
}

static int read_mounts(struct mount_monitor *monitor, struct error *err)
{
	cleanup_buf struct buf text = {0};
	char *rest, *line;

	if (lseek(monitor->check_fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, ERROR_IO, errno, "mount monitor", "cannot read the sandbox's mounts again");
	if (fd_read_all(monitor->check_fd, MOUNTINFO_MAX, &text, err) < 0)
		return -1;
	for (size_t i = 0; i < monitor->n; i++)
		monitor->watched[i].present = false;
	rest = text.data;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL)
		mark_line(monitor, line);
	return 0;
}

static int lose(struct mount_monitor *monitor, const struct mount_op *op, const char *kind, struct error *why,
	struct error *err)
{
	if (violations_add(monitor->violations, kind, op->target, "killed", err) < 0)
		return -1;
	why->code = ERROR_UNENFORCEABLE;
	return monitor->hooks.lost(monitor->hooks.userdata, why, err);
}

static bool is_read_only_pin(const struct mount_op *op)
{
	return op->kind == MOUNT_PIN && (op->flags & MOUNT_WRITE) == 0;
}

static bool is_late(const struct mount_op *op)
{
	return op->kind == MOUNT_MASK && (op->flags & MOUNT_OPTIONAL) != 0;
}

/* What the host made where the command's uid cannot get to; when its rights change, it is looked at again. */
static bool is_out_of_reach(const struct mount_op *op, const struct error *why)
{
	return is_late(op) && why->sys_errno == EACCES;
}

/* Race: a rename detaches the mount first and puts the new file in place a moment later; in between nothing can be
 * mounted there. Waiting for that stops the supervisor for some milliseconds, where otherwise the run would be over. */
static int repair(struct mount_monitor *monitor, const struct mount_op *op, struct error *ret_why)
{
	uint64_t wait_ns = REPAIR_WAIT_NS;

	for (unsigned i = 0; i < REPAIR_TRIES; i++, wait_ns *= 2) {
		const struct timespec pause = {.tv_nsec = (long)wait_ns};

		*ret_why = (struct error){0};
		if (monitor->hooks.repair(monitor->hooks.userdata, op, ret_why) == 0)
			return 0;
		if (is_out_of_reach(op, ret_why))
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return -1;
}

static bool is_absent(const struct mount_op *op)
{
	struct stat st;

	return lstat(op->source, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static const char *kind_of(const struct mount_op *op)
{
	if (op->kind != MOUNT_MASK)
		return "protection_replaced";
	return is_late(op) ? "denied_appeared" : "mask_replaced";
}

static int mount_again(struct mount_monitor *monitor, const struct mount_op *op, struct error *err)
{
	const char *kind = kind_of(op);
	struct error why = {0};

	if (is_late(op) && is_absent(op))
		return 0;

	if (is_read_only_pin(op)) {
		(void)error_set(&why, ERROR_UNENFORCEABLE, "protection",
			"the protection of %s vanished: something outside replaced what it was mounted on", op->target);
		return lose(monitor, op, kind, &why, err);
	}
	if (repair(monitor, op, &why) == 0)
		return violations_add(
			monitor->violations, kind, op->target, is_late(op) ? "masked" : "masked_again", err);
	if (is_out_of_reach(op, &why))
		return 0;
	(void)error_prefix(&why, "the protection of %s vanished and could not be restored", op->target);
	return lose(monitor, op, kind, &why, err);
}

/* A mountinfo that cannot be read proves nothing, so the run ends. */
static int verify(struct mount_monitor *monitor, struct error *err)
{
	struct error why = {0};

	if (read_mounts(monitor, &why) < 0)
		return monitor->hooks.lost(monitor->hooks.userdata, &why, err);
	for (size_t i = 0; i < monitor->n; i++) {
		if (!monitor->watched[i].present && mount_again(monitor, monitor->watched[i].op, err) < 0)
			return -1;
	}
	return 0;
}

int mount_monitor_check(struct mount_monitor *monitor, struct error *err)
{
	struct pollfd changes = {.events = POLLPRI};

	if (monitor == NULL)
		return 0;
	changes.fd = monitor->check_fd;
	if (poll(&changes, 1, 0) == 0 && monitor->checked)
		return 0;
	monitor->checked = true;
	return verify(monitor, err) < 0 ? -1 : 1;
}

void mount_monitor_suspect(struct mount_monitor *monitor)
{
	if (monitor != NULL)
		monitor->checked = false;
}

static int on_wake(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return mount_monitor_check(userdata, err) < 0 ? -1 : 0;
}

static size_t count_monitored(const struct mount_plan *mounts)
{
	size_t n = 0;

	for (size_t i = 0; i < mounts->n_ops; i++)
		n += is_monitored(&mounts->ops[i]);
	return n;
}

static int list_monitored(struct mount_monitor *monitor, const struct mount_plan *mounts, size_t n, struct error *err)
{
	monitor->watched = calloc(n, sizeof *monitor->watched);
	if (monitor->watched == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < mounts->n_ops; i++) {
		if (is_monitored(&mounts->ops[i]))
			monitor->watched[monitor->n++].op = &mounts->ops[i];
	}
	qsort(monitor->watched, monitor->n, sizeof *monitor->watched, by_target);
	return 0;
}

int mount_monitor_new(const struct mount_plan *mounts, int wake_fd, int check_fd, struct loop *loop,
	struct violations *violations, const struct mount_monitor_hooks *hooks, struct mount_monitor **ret_monitor,
	struct error *err)
{
	cleanup_with(mount_monitor_freep) struct mount_monitor *monitor = NULL;
	size_t n = count_monitored(mounts);

	if (wake_fd < 0 || check_fd < 0 || n == 0) {
		*ret_monitor = NULL;
		return 0;
	}
	monitor = calloc(1, sizeof *monitor);
	if (monitor == NULL)
		return error_no_memory(err);
	*monitor = (struct mount_monitor){
		.loop = loop, .violations = violations, .hooks = *hooks, .wake = LOOP_SOURCE_INIT, .check_fd = check_fd};
	if (list_monitored(monitor, mounts, n, err) < 0)
		return -1;
	if (loop_add_fd(loop, &monitor->wake, wake_fd, EPOLLPRI, on_wake, monitor, err) < 0)
		return -1;
	*ret_monitor = steal_ptr(&monitor);
	return 0;
}

struct mount_monitor *mount_monitor_free(struct mount_monitor *monitor)
{
	if (monitor == NULL)
		return NULL;
	loop_remove(monitor->loop, &monitor->wake);
	free(monitor->watched);
	free(monitor);
	return NULL;
}
