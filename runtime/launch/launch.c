/*
 * The parent's side: makes the descriptors, clones the child into its namespaces (but that of the network, which takes as
 * long as all else: the child makes it itself while the parent goes on), gives it what only the parent can (id maps, and,
 * started by root, the sources that the mapped uid could not reach), and waits until it says that everything stands.
 *
 * The child is a fork and not a CLONE_VM child: it must be able to block (a dead network file system, an automount) without
 * blocking the caller beyond the time limit here, and, started by root, it cannot map itself (user_namespaces(7)).
 *
 * The clone has no exit signal, but execve gives it SIGCHLD back: a host program's handler and wait(-1) may meet an init
 * that has ended, which launched_reap() bears. The host uid of a sandbox started by root is base + the pid of its init:
 * unique among all that live, without a file that could be left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/monotime.h"
#include "base/steps.h"
#include "base/sys.h"
#include "ns/idmap.h"
#include "runtime/launch/block.h"
#include "runtime/launch/child.h"
#include "runtime/launch/launched.h"
#include "runtime/launch/setup.h"
#include "runtime/launch/streams.h"

struct launch {
	const struct plan *plan;
	struct launched *launched;
	struct streams streams;
	int child_control_fd, supervisor_pidfd, block_fd, image_fd;
	bool privileged; /* the parent opens the sources and maps other ids than its own */
	int *trees;
};

static struct launched *launched_new(void)
{
	struct launched *launched = malloc(sizeof *launched);

	if (launched == NULL)
		return NULL;
	*launched = (struct launched)LAUNCHED_INIT;
	return launched;
}

static int open_control(struct launch *launch, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, ERROR_IO, errno, "socketpair", "control socket");
	launch->launched->control_fd = ends[0];
	launch->child_control_fd = ends[1];
	return 0;
}

/* That a group can be made and limited was perhaps only expected: where it cannot, that is a lack of the machine's. */
static int make_group(struct launch *launch, struct error *err)
{
	const struct plan *plan = launch->plan;

	if (plan->cgroup_base == NULL)
		return 0;
	if (group_make(plan->cgroup_base, plan->cgroup_inner, &launch->launched->group, err) < 0 ||
		group_limit(launch->launched->group, &plan->group_limits, err) < 0) {
		if (err->code != ERROR_NO_MEMORY && err->code != ERROR_LIMIT)
			err->code = ERROR_UNENFORCEABLE;
		return -1;
	}
	steps_mark(launch->plan->steps, STEP_CGROUP_MADE);
	return 0;
}

static int prepare(struct launch *launch, struct error *err)
{
	const struct plan *plan = launch->plan;

	launch->trees = calloc(plan->mounts.n_ops + 1, sizeof *launch->trees);
	launch->launched = launched_new();
	if (launch->trees == NULL || launch->launched == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < plan->mounts.n_ops; i++)
		launch->trees[i] = -1;
	launch->block_fd = block_new(plan, err);
	if (launch->block_fd < 0)
		return -1;
	launch->image_fd = block_init_image(err);
	if (launch->image_fd < 0)
		return -1;
	steps_mark(launch->plan->steps, STEP_BLOCK);
	if (streams_open(plan, &launch->streams, err) < 0 || open_control(launch, err) < 0)
		return -1;
	steps_mark(launch->plan->steps, STEP_STREAMS);
	launch->supervisor_pidfd = sys_pidfd_open(getpid(), 0);
	if (launch->supervisor_pidfd < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "pidfd_open", "the supervisor cannot be watched");
	return make_group(launch, err);
}

/* With a pid namespace init is in the cgroup and dies with it; without one it stays outside, to see the tree to its end. */
static bool init_is_in_group(const struct launch *launch)
{
	return launch->launched->group != NULL && plan_is_confined(launch->plan);
}

static _Noreturn void run_child(struct launch *launch)
{
	bool join = launch->launched->group != NULL && !init_is_in_group(launch);
	struct launch_child child = {
		.plan = launch->plan,
		.control_fd = launch->child_control_fd,
		.supervisor_pidfd = launch->supervisor_pidfd,
		.block_fd = launch->block_fd,
		.image_fd = launch->image_fd,
		.ruleset_fd = -1,
		.group_fd = join ? group_fd(launch->launched->group) : -1,
		.stdio_fds = {launch->streams.child[0], launch->streams.child[1], launch->streams.child[2]},
		.take_sources = !launch->privileged,
		.trees = launch->trees,
	};

	(void)close(launch->launched->control_fd);
	launch_child(&child);
}

static int clone_child(struct launch *launch, struct error *err)
{
	struct launched *launched = launch->launched;
	struct clone_args args = {.flags = (launch->plan->namespaces & ~(uint64_t)CLONE_NEWNET) | CLONE_PIDFD,
		.pidfd = (uintptr_t)&launched->pidfd};

	if (init_is_in_group(launch)) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)group_fd(launched->group);
	}
	launched->subreaper = !plan_is_confined(launch->plan);
	launched->pid = sys_clone3_blocked(&args);
	if (launched->pid == 0)
		run_child(launch);
	steps_mark(launch->plan->steps, STEP_CLONED);
	(void)error_set_errno(err, ERROR_UNENFORCEABLE, errno, "clone3",
		launched->subreaper ? "no process can be made" : "the namespaces cannot be made");
	cleanup_close_fd(&launch->child_control_fd);
	streams_close_child(&launch->streams);
	return launched->pid < 0 ? -1 : 0;
}

/*
 * Threat: what the kernel may not choose when memory runs out (a daemon that exempted itself) would hand its exemption down
 * to the command, whose memory limit then hangs it instead of ending it, and which would be the last to go on the machine.
 */
static int lose_exemption(const struct launch *launch, struct error *err)
{
	cleanup_buf struct buf own = {0};
	cleanup_close int fd = -1;
	char path[64];

	if (fd_read_file(AT_FDCWD, "/proc/self/oom_score_adj", 64, &own, err) < 0)
		return -1;
	if (buf_str(&own)[0] != '-')
		return 0;
	(void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)launch->launched->pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, "0", 1) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "oom_score_adj",
			"the command would be exempt from being killed for lack of memory");
	return 0;
}

static int map_ids(struct launch *launch, struct error *err)
{
	const struct plan_identity *identity = &launch->plan->identity;
	struct idmap map = {.inner_uid = identity->inner_uid,
		.inner_gid = identity->inner_gid,
		.outer_uid = geteuid(),
		.outer_gid = getegid(),
		.deny_setgroups = !launch->privileged};

	if (identity->mapped) {
		map.outer_uid = identity->uid_base + (uid_t)launch->launched->pid;
		map.outer_gid = map.outer_uid;
	}
	launch->launched->host_uid = map.outer_uid;
	return idmap_write(launch->launched->pid, &map, err);
}

/* One for each owner whose files are shown as the command's: first that of the workspace. */
static int open_idmaps(const struct launch *launch, int *fds, struct error *err)
{
	const struct plan_identity *identity = &launch->plan->identity;
	uid_t host_uid = launch->launched->host_uid;

	for (size_t i = 0; i <= identity->n_owners; i++) {
		struct idmap shown = {.inner_uid = i == 0 ? identity->workspace_uid : identity->owners[i - 1].uid,
			.inner_gid = i == 0 ? identity->workspace_gid : identity->owners[i - 1].gid,
			.outer_uid = host_uid,
			.outer_gid = host_uid};

		fds[i] = idmap_namespace(&shown, err);
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

static int take_sources(struct launch *launch, struct error *err)
{
	const struct plan_identity *identity = &launch->plan->identity;
	int *idmaps;
	int r;

	if (!launch->privileged)
		return 0;
	if (!identity->idmap)
		return mounts_take(&launch->plan->mounts, NULL, launch->trees, err);
	idmaps = malloc((identity->n_owners + 1) * sizeof *idmaps);
	if (idmaps == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i <= identity->n_owners; i++)
		idmaps[i] = -1;
	r = open_idmaps(launch, idmaps, err);
	if (r == 0)
		r = mounts_take(&launch->plan->mounts, idmaps, launch->trees, err);
	for (size_t i = 0; i <= identity->n_owners; i++)
		(void)fd_close(idmaps[i]);
	free(idmaps);
	return r;
}

static int give_confined(struct launch *launch, struct error *err)
{
	if (map_ids(launch, err) < 0)
		return -1;
	if (launch->plan->identity.mapped && streams_give(&launch->streams, launch->launched->host_uid, err) < 0)
		return -1;
	steps_mark(launch->plan->steps, STEP_IDS);
	if (take_sources(launch, err) < 0)
		return -1;
	steps_mark(launch->plan->steps, STEP_SOURCES);
	if (setup_send_go(launch->launched->control_fd, launch->trees, launch->plan->mounts.n_ops, err) < 0)
		return -1;
	steps_mark(launch->plan->steps, STEP_GO);
	return 0;
}

/* What only the parent can do. Where it cannot because the child has ended, the child knows why. */
static int help_confine(struct launch *launch, struct error *err)
{
	struct error why = {0};

	if (give_confined(launch, &why) == 0)
		return 0;
	if (!setup_child_has_ended(launch->launched) || setup_wait_ready(launch->launched, launch->plan->steps, err) == 0)
		*err = why;
	return -1;
}

static int finish(struct launch *launch, struct error *err)
{
	struct launched *launched = launch->launched;

	launched->host_uid = geteuid();
	if (lose_exemption(launch, err) < 0 || (plan_is_confined(launch->plan) && help_confine(launch, err) < 0) ||
		setup_wait_ready(launched, launch->plan->steps, err) < 0)
		return -1;
	launched->stdin_fd = steal_fd(&launch->streams.ours[0]);
	launched->stdout_fd = steal_fd(&launch->streams.ours[1]);
	launched->stderr_fd = steal_fd(&launch->streams.ours[2]);
	launched->started_ns = monotime_ns();
	if (launched->tty_fd >= 0 && fd_set_nonblock(launched->tty_fd, true, err) < 0)
		return -1;
	return fd_set_nonblock(launched->control_fd, true, err);
}

static void launch_done(struct launch *launch)
{
	for (size_t i = 0; launch->trees != NULL && i < launch->plan->mounts.n_ops; i++)
		(void)fd_close(launch->trees[i]);
	free(launch->trees);
	streams_done(&launch->streams);
	(void)fd_close(launch->child_control_fd);
	(void)fd_close(launch->supervisor_pidfd);
	(void)fd_close(launch->block_fd);
	(void)fd_close(launch->image_fd);
}

int launch_start(const struct plan *plan, struct launched **ret_launched, struct error *err)
{
	struct launch launch = {.plan = plan,
		.streams = {.child = {-1, -1, -1}, .ours = {-1, -1, -1}},
		.child_control_fd = -1,
		.supervisor_pidfd = -1,
		.block_fd = -1,
		.image_fd = -1,
		.privileged = plan->identity.privileged};
	struct error local = {0};
	int r = -1;

	/* The step that succeeds must not leave a message behind in the caller's error. */
	if (prepare(&launch, &local) == 0 && clone_child(&launch, &local) == 0) {
		local = (struct error){0};
		r = finish(&launch, &local);
	}
	launch_done(&launch);
	if (r < 0) {
		(void)launched_free(launch.launched);
		if (err != NULL)
			*err = local;
		return -1;
	}
	*ret_launched = launch.launched;
	return 0;
}
