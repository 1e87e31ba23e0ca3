/*
 * Runs in a fork of the caller's process, which may have had many threads: only system calls, no allocation, no lock,
 * no stdio. Every signal is blocked, so no handler of the caller's ever runs here.
 *
 * The steps, in an order that matters:
 *   1 die with the launching thread       (until step 7; init watches the supervisor's pidfd itself)
 *   2 host name; the network namespace and its loopback (the kernel takes half a millisecond to make one: it does so while
 *     the parent is busy with step 3; the capabilities of the new user namespace are there before its ids are)
 *   3 wait until the parent has mapped the ids and, where it is privileged, opened the sources of the binds
 *   4 mounts, and in their midst the change to the mapped uid
 *   5 terminal, or the given descriptors
 *   6 the ruleset of the Landlock fence, which hangs on the mounts as they stand now
 *   7 tell the parent, with descriptors by which it can watch
 *   8 own session and keyring, CPUs
 *   9 no capability, no_new_privs
 *  10 every descriptor but init's own closed
 *  11 init
 * Without a boundary (the backend none) steps 2, 3, 4, 6 and 9 fall away, and so does the keyring: what remains is what makes
 * a run: streams, session, CPUs, descriptors, init.
 * Any failure is sent to the parent as the error it is; silence would mean nothing.
 */
#include "runtime/launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/steps.h"
#include "base/sys.h"
#include "ns/caps.h"
#include "ns/landlock.h"
#include "ns/loopback.h"
#include "runtime/launch/close_from.h"
#include "runtime/launch/init_message.h"
#include "runtime/launch/setup_message.h"

#define FIRST_FREE_FD (INIT_FD_GROUP + 1)

static int die_with_parent(const struct launch_child *child, struct error *err)
{
	struct pollfd supervisor = {.fd = child->supervisor_pidfd, .events = POLLIN};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "pdeathsig", "cannot be set");
	/* Race: the parent may have died before the signal was asked for. */
	if (poll(&supervisor, 1, 0) != 0)
		_exit(1);
	return 0;
}

static int receive_trees(struct launch_child *child, struct error *err)
{
	const struct mount_plan *mounts = &child->plan->mounts;

	for (;;) {
		struct setup_go go;
		int fds[FD_SEND_MAX];
		size_t n_fds = 0;
		long size = fd_receive(child->control_fd, &go, sizeof go, fds, FD_SEND_MAX, &n_fds, 0);

		if (size == 0)
			_exit(1);
		if (size != (long)sizeof go || go.kind != SETUP_GO || go.n != n_fds)
			return error_set_errno(
				err, ERROR_INTERNAL, size < 0 ? errno : EPROTO, "setup message", "from the parent");
		for (size_t i = 0; i < n_fds; i++) {
			if (go.ops[i] >= mounts->n_ops)
				return error_set(err, ERROR_INTERNAL, "setup message", "a source of no operation");
			child->trees[go.ops[i]] = fds[i];
		}
		if (go.more == 0)
			return 0;
	}
}

static int get_sources(struct launch_child *child, struct error *err)
{
	if (receive_trees(child, err) < 0)
		return -1;
	return child->take_sources ? mounts_take(&child->plan->mounts, NULL, child->trees, err) : 0;
}

static int set_names(const struct plan *plan, struct error *err)
{
	if ((plan->namespaces & CLONE_NEWUTS) == 0)
		return 0;
	if (sethostname(plan->hostname, strlen(plan->hostname)) < 0 || setdomainname("", 0) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "sethostname", "%s", plan->hostname);
	return 0;
}

static int leave_network(const struct plan *plan, struct error *err)
{
	if ((plan->namespaces & CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "unshare", "the network namespace cannot be made");
	return plan->loopback ? loopback_up(err) : 0;
}

static int become_inner(void *userdata, struct error *err)
{
	const struct launch_child *child = userdata;
	const struct plan_identity *identity = &child->plan->identity;

	if (caps_become(identity->inner_uid, identity->inner_gid, !child->take_sources, err) < 0)
		return -1;
	/* Changing the uid took the parent-death signal away. */
	return die_with_parent(child, err);
}

static int open_terminal(struct launch_child *child, int *ret_master, struct error *err)
{
	bool confined = plan_is_confined(child->plan);
	const char *path = confined ? "/dev/pts/ptmx" : "/dev/ptmx"; /* the host's own /dev/pts/ptmx is for nobody */
	cleanup_close int master = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0;
	int slave;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "open terminal", "%s%s", path, confined ? " inside" : "");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "open terminal", "its other end");
	for (int i = 0; i < 3; i++)
		child->stdio_fds[i] = slave;
	*ret_master = steal_fd(&master);
	return 0;
}

struct ready {
	struct setup_message message;
	int fds[SETUP_FD_MAX];
	size_t n;
};

static void add_fd(struct ready *ready, unsigned bit, int fd)
{
	if (fd < 0 || ready->n == SETUP_FD_MAX)
		return;
	ready->message.present |= 1u << bit;
	ready->fds[ready->n++] = fd;
}

/* Of what is the sandbox's own alone. */
static void add_sysvipc(struct ready *ready)
{
	add_fd(ready, SETUP_FD_SYSVIPC, open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC));
	add_fd(ready, SETUP_FD_SYSVIPC_SEM, open("/proc/sysvipc/sem", O_RDONLY | O_CLOEXEC));
	add_fd(ready, SETUP_FD_SYSVIPC_MSG, open("/proc/sysvipc/msg", O_RDONLY | O_CLOEXEC));
}

static void add_tmpfs(struct ready *ready, const struct mount_plan *mounts, int scratch)
{
	unsigned bit = SETUP_FD_TMPFS;

	add_fd(ready, bit, scratch);
	for (size_t i = 0; i < mounts->n_ops && bit + 1 < SETUP_FD_MAX; i++) {
		if (mounts->ops[i].kind == MOUNT_TMPFS && (mounts->ops[i].flags & MOUNT_WRITE) != 0)
			add_fd(ready, ++bit, open(mounts->ops[i].target, O_PATH | O_DIRECTORY | O_CLOEXEC));
	}
}

/* Order: that of the bits. */
static int tell_ready(const struct launch_child *child, int scratch, int terminal, struct error *err)
{
	bool confined = plan_is_confined(child->plan);
	struct ready ready = {.message.kind = SETUP_READY};

	ready.message.n_marks =
		(uint32_t)steps_copy(child->plan->steps, child->marks_before, ready.message.marks, SETUP_MARKS_MAX);
	if (confined)
		add_fd(&ready, SETUP_FD_MOUNTINFO, open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
	add_fd(&ready, SETUP_FD_PROC, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (confined) {
		add_sysvipc(&ready);
		add_fd(&ready, SETUP_FD_MOUNTINFO_CHECK, open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
	}
	add_fd(&ready, SETUP_FD_TTY, terminal);
	if (confined)
		add_tmpfs(&ready, &child->plan->mounts, scratch);
	/* Race: once it is told, the launching thread may end, which must not take the run with it. Nothing below can
	 * block, and init looks for the supervisor first of all. */
	if (prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "pdeathsig", "cannot be cleared");
	if (fd_send(child->control_fd, &ready.message, sizeof ready.message, ready.fds, ready.n) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "setup message", "to the parent");
	return 0;
}

static int leave_keyring(struct error *err)
{
	/* A kernel without keyrings has nothing to leave; a filter around us that forbids the call hides them too. */
	if (sys_keyctl_join_session() < 0 && errno != ENOSYS && errno != EPERM)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "keyctl", "no session keyring of its own");
	return 0;
}

static int leave_caller(const struct plan *plan, struct error *err)
{
	cpu_set_t allowed;
	unsigned left = plan->affinity_cpus;

	if (setsid() < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "setsid", "no session of its own");
	if (plan_is_confined(plan) && leave_keyring(err) < 0)
		return -1;
	if (left == 0)
		return 0;
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "sched_getaffinity", "the allowed CPUs");
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && (left == 0 || left-- == 0))
			CPU_CLR(cpu, &allowed);
	}
	if (sched_setaffinity(0, sizeof allowed, &allowed) < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "sched_setaffinity", "%u CPUs", plan->affinity_cpus);
	return 0;
}

/* Moves a descriptor out of the way of the fixed numbers, close-on-exec. */
static int move_up(int fd, struct error *err)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	if (moved < 0)
		return error_set_errno(err, ERROR_IO, errno, "dup", "descriptors for init");
	return moved;
}

/* Not every run has these. */
static bool is_left_out(int number, int fd)
{
	return fd < 0 && (number == INIT_FD_RULESET || number == INIT_FD_GROUP);
}

/* 0, 1, 2 and init's own; everything else is closed. Returns the number of the image. */
static int arrange_fds(const struct launch_child *child, struct error *err)
{
	const int wanted[FIRST_FREE_FD] = {child->stdio_fds[0], child->stdio_fds[1], child->stdio_fds[2],
		child->control_fd, child->block_fd, child->supervisor_pidfd, child->ruleset_fd, child->group_fd};
	int moved[FIRST_FREE_FD];
	int image = move_up(child->image_fd, err);

	if (image < 0)
		return -1;
	for (int i = 0; i < FIRST_FREE_FD; i++) {
		if (is_left_out(i, wanted[i]))
			continue;
		moved[i] = move_up(wanted[i], err);
		if (moved[i] < 0)
			return -1;
	}
	for (int i = 0; i < FIRST_FREE_FD; i++) {
		if (is_left_out(i, wanted[i]))
			(void)close(i); /* whatever has its number goes */
		else if (dup2(moved[i], i) < 0)
			return error_set_errno(err, ERROR_IO, errno, "dup2", "descriptors for init");
	}
	if (dup2(image, FIRST_FREE_FD) < 0 || fcntl(FIRST_FREE_FD, F_SETFD, FD_CLOEXEC) < 0)
		return error_set_errno(err, ERROR_IO, errno, "dup2", "the init program");
	if (close_from(FIRST_FREE_FD + 1) < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "close_range", "the caller's descriptors cannot be closed");
	return FIRST_FREE_FD;
}

static void send_failure(int control_fd, const struct error *error)
{
	struct setup_message message = {.kind = SETUP_FAILED, .error = *error};

	(void)fd_send(control_fd, &message, sizeof message, NULL, 0);
}

/* After SETUP_READY the supervisor listens for init's events, so a failure must look like one. */
static void send_exec_failure(int control_fd, const struct error *error)
{
	struct init_event event = {.kind = INIT_EVENT_EXEC_FAILED, .sys_errno = error->sys_errno, .step = INIT_STEP_INIT};

	(void)snprintf(event.text, sizeof event.text, "%.60s: %.120s", error->where, error->text);
	(void)fd_send(control_fd, &event, sizeof event, NULL, 0);
}

static _Noreturn void become_init(struct launch_child *child)
{
	char name[] = "pinfold-init";
	char *const argv[] = {name, NULL};
	char *const environment[] = {NULL};
	struct error error = {0};
	int control = child->control_fd;
	int image = -1;

	if (leave_caller(child->plan, &error) == 0 && (!plan_is_confined(child->plan) || caps_drop_all(&error) == 0))
		image = arrange_fds(child, &error);
	if (image >= 0) {
		control = INIT_FD_CONTROL;
		(void)sys_execveat(image, "", argv, environment, AT_EMPTY_PATH);
		(void)error_set_errno(
			&error, ERROR_UNENFORCEABLE, errno, "execveat", "the init program cannot be executed");
	}
	send_exec_failure(control, &error);
	_exit(1);
}

/* What there is of a boundary. */
static int confine(struct launch_child *child, int *ret_scratch, struct error *err)
{
	const struct plan *plan = child->plan;

	if (set_names(plan, err) < 0 || leave_network(plan, err) < 0)
		return -1;
	steps_mark(child->plan->steps, STEP_CHILD_NETWORK);
	if (get_sources(child, err) < 0)
		return -1;
	steps_mark(child->plan->steps, STEP_CHILD_SOURCES);
	if (mounts_apply(&plan->mounts, child->trees, become_inner, child, ret_scratch, err) < 0)
		return -1;
	steps_mark(child->plan->steps, STEP_CHILD_MOUNTS);
	return 0;
}

/* Threat: pids in the proc of another pid namespace are those of other people's processes. */
static int check_proc(struct error *err)
{
	char self[16], expected[16];
	ssize_t n = readlink("/proc/self", self, sizeof self - 1);

	(void)snprintf(expected, sizeof expected, "%d", (int)getpid());
	self[n < 0 ? 0 : n] = '\0';
	if (strcmp(self, expected) == 0)
		return 0;
	return error_set(err, ERROR_UNENFORCEABLE, "tree_kill",
		"/proc does not show this process: without it the command's processes cannot be found");
}

void launch_child(struct launch_child *child)
{
	const struct plan *plan = child->plan;
	struct error error = {0};
	int scratch = -1;
	int terminal = -1;

	child->marks_before = plan->steps != NULL ? plan->steps->n : 0;
	steps_mark(child->plan->steps, STEP_CHILD_BEGIN);
	if (die_with_parent(child, &error) < 0)
		goto fail;
	if ((plan_is_confined(plan) ? confine(child, &scratch, &error) : check_proc(&error)) < 0)
		goto fail;
	if (plan->output == PLAN_OUTPUT_TTY && open_terminal(child, &terminal, &error) < 0)
		goto fail;
	if (landlock_make(&plan->landlock, child->stdio_fds, 3, &child->ruleset_fd, &error) < 0)
		goto fail;
	steps_mark(child->plan->steps, STEP_CHILD_FENCE);
	if (tell_ready(child, scratch, terminal, &error) < 0)
		goto fail;
	become_init(child);
fail:
	send_failure(child->control_fd, &error);
	_exit(1);
}
