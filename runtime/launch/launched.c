/*
 * The handle of a live tree. Killing it means killing its init by pidfd: the kernel then kills every process of the pid
 * namespace and lets init be reaped only when all are gone. That is the proof that the tree is dead.
 *
 * Without a pid namespace init must live to see the end: it alone becomes the parent of what loses its own. So the
 * cgroup is killed and all that descends from init, and init, which ends by itself when it has no child left, is told
 * to do the same until then. Only where it does not end is it killed too.
 */
#include "runtime/launch/launched.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "runtime/launch/init_sweep.h"

#define UNKILLABLE_MS 2000
#define INIT_MS       200

/* Order: init is told first, so that it does not take what follows for the command's own end.
 * Threat: the command may have stopped init, and would do so again; its processes are dead before init goes on. */
static void kill_descendants(struct launched *launched)
{
	const struct init_request end = {.kind = INIT_REQUEST_END};
	struct init_sweep sweep = {
		.proc_fd = launched->proc_fd, .root = launched->pid, .root_pidfd = launched->pidfd, .signo = SIGKILL};

	launched_request(launched, &end);
	if (launched->group != NULL)
		(void)group_kill(launched->group);
	if (launched->proc_fd >= 0)
		init_sweep(&sweep);
	(void)sys_pidfd_send_signal(launched->pidfd, SIGCONT);
}

void launched_kill(struct launched *launched)
{
	if (launched->pidfd < 0)
		return;
	if (launched->subreaper && launched->started_ns != 0) { /* before that there is no init, and nothing below it */
		kill_descendants(launched);
		return;
	}
	(void)sys_pidfd_send_signal(launched->pidfd, SIGKILL);
	if (launched->group != NULL)
		(void)group_kill(launched->group);
}

void launched_request(struct launched *launched, const struct init_request *request)
{
	(void)send(launched->control_fd, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* 0, or -1 with errno. The descriptor is closed either way: a pid that cannot be waited for will not be there later. */
static int reap(struct launched *launched, siginfo_t *ret_info)
{
	int r;

	do
		r = waitid(P_PIDFD, (id_t)launched->pidfd, ret_info, WEXITED | __WALL);
	while (r < 0 && errno == EINTR);
	cleanup_close_fd(&launched->pidfd);
	return r;
}

int launched_reap(struct launched *launched, int *ret_status, struct error *err)
{
	siginfo_t info = {0};

	/* Race: by executing init the child got its exit signal back, so a host program that ignores SIGCHLD or waits for any
	 * child may have been first. The tree is dead all the same; how init ended is then not known, as after a SIGKILL. */
	if (reap(launched, &info) < 0 && errno != ECHILD)
		return error_set_errno(err, ERROR_INTERNAL, errno, "waitid", "the sandbox's init");
	if (info.si_pid == 0)
		info = (siginfo_t){.si_code = CLD_KILLED, .si_status = SIGKILL};
	*ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return 0;
}

/* In a child of its own, because joining a mount namespace is for a whole process, and a user namespace for a single
 * thread. */
static _Noreturn void repair_child(const struct launched *launched, const struct mount_op *op)
{
	struct error error = {0};

	if (setns(launched->pidfd, CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(1);
	_exit(mounts_repair(op, launched->tmpfs_fds[0], &error) == 0 ? 0 : 1);
}

int launch_repair_mount(struct launched *launched, const struct mount_op *op, struct error *err)
{
	cleanup_close int pidfd = -1;
	struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd};
	siginfo_t info = {0};
	pid_t pid;

	if (launched->pidfd < 0 || launched->n_tmpfs == 0)
		return error_set(err, ERROR_UNENFORCEABLE, "repair", "%s: the sandbox is gone", op->target);
	pid = sys_clone3_blocked(&args);
	if (pid == 0)
		repair_child(launched, op);
	if (pid < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "clone3", "%s cannot be protected again", op->target);
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	return error_set(err, ERROR_UNENFORCEABLE, "repair", "%s cannot be protected again", op->target);
}

static void close_all(struct launched *launched)
{
	int *const fds[] = {&launched->pidfd, &launched->control_fd, &launched->stdin_fd, &launched->stdout_fd,
		&launched->stderr_fd, &launched->tty_fd};
	int *inside[6 + LAUNCHED_TMPFS_MAX] = {&launched->proc_fd, &launched->sysvipc_fd, &launched->sysvipc_sem_fd,
		&launched->sysvipc_msg_fd, &launched->mountinfo_fd, &launched->mountinfo_check_fd};
	size_t n = 6;

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		cleanup_close_fd(fds[i]);
	for (size_t i = 0; i < launched->n_tmpfs; i++)
		inside[n++] = &launched->tmpfs_fds[i];
	/* The last of the sandbox's mounts goes with these, which takes a while and has no bearing on the result. */
	fd_close_aside(inside, n);
}

/* A task that no signal reaches must not hold the caller for ever; its end was told as far as it is known. */
static void end(struct launched *launched)
{
	struct pollfd death = {.fd = launched->pidfd, .events = POLLIN};
	siginfo_t info;
	int dead;

	launched_kill(launched);
	dead = poll(&death, 1, UNKILLABLE_MS);
	if (dead == 0 && launched->subreaper) { /* or it would wait on for its children */
		(void)sys_pidfd_send_signal(launched->pidfd, SIGKILL);
		dead = poll(&death, 1, INIT_MS);
	}
	if (dead > 0)
		(void)reap(launched, &info);
}

struct launched *launched_free(struct launched *launched)
{
	if (launched == NULL)
		return NULL;
	if (launched->pidfd >= 0)
		end(launched);
	close_all(launched);
	(void)group_free(launched->group);
	free(launched);
	return NULL;
}
