/*
 * A confined tree that runs: the handle between launch and supervise. Freeing it kills and reaps the tree.
 *
 *   caller's process (supervisor) --control socket--> init (pid 1 inside) --> the command and its children
 *
 * The init (init.c, a tiny static program of its own) reaps, forwards signals, keeps the deadline, and ends the tree
 * when the supervisor's pidfd says it is gone. It tells the supervisor what happens in init_event datagrams.
 *
 * Without a boundary init is no pid 1 but the subreaper of the tree, its cgroup, where there is one, holds the tree
 * without it, and proc_fd is the host's: only what descends from init is the tree's.
 */
#ifndef LAUNCH_LAUNCHED_H
#define LAUNCH_LAUNCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cgroup/group.h"
#include "runtime/launch/init_message.h"
#include "runtime/plan/plan.h"

#define LAUNCHED_TMPFS_MAX 16

struct launched {
	pid_t pid;      /* init, as the supervisor sees it */
	int pidfd;      /* readable when init and with it the whole tree is dead */
	bool subreaper; /* init is one, for there is no pid namespace */
	int control_fd; /* SOCK_SEQPACKET, non-blocking: init_event in, init_request out */
	int stdin_fd;   /* write end for PLAN_STDIN_DATA, and for a pipe that is given; non-blocking, else -1 */
	int stdout_fd;  /* read ends for CAPTURE and RELAY, non-blocking, else -1 */
	int stderr_fd;
	int tty_fd;             /* master for PLAN_OUTPUT_TTY, non-blocking, else -1 */
	int proc_fd;            /* root of the sandbox's proc, or with a subreaper the host's */
	int sysvipc_fd;         /* its /proc/sysvipc/shm, or -1 */
	int sysvipc_sem_fd;     /* and sem */
	int sysvipc_msg_fd;     /* and msg */
	int mountinfo_fd;       /* its /proc/1/mountinfo: POLLPRI when a mount changes, once for each poll; -1 */
	int mountinfo_check_fd; /* another one of its own, for whoever must not miss a change; -1 */
	int tmpfs_fds[LAUNCHED_TMPFS_MAX];
	size_t n_tmpfs;
	struct group *group; /* NULL where there is no cgroup */
	uid_t host_uid;
	uint64_t started_ns; /* monotime at which the command was let go */
};
#define LAUNCHED_INIT                                                                                       \
	{                                                                                                   \
		.pid = -1, .pidfd = -1, .control_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, \
		.tty_fd = -1, .proc_fd = -1, .sysvipc_fd = -1, .sysvipc_sem_fd = -1, .sysvipc_msg_fd = -1,  \
		.mountinfo_check_fd = -1, .mountinfo_fd = -1                                                \
	}

/* Builds the boundary and starts the command in it. Returns when everything stands and init has been told to go;
 * whether the command could be executed comes as an event. On failure nothing is left. Blocks at most 30 s. */
must_check int launch_start(const struct plan *plan, struct launched **ret_launched, struct error *err);
/* SIGKILL to the whole tree. Cannot fail in a way that leaves it alive, where there is a pid namespace; else what it
 * did not reach init goes on looking for. */
void launched_kill(struct launched *launched);
/* Sends a request to init; a dead init is no error. */
void launched_request(struct launched *launched, const struct init_request *request);
/* Reaps init after pidfd became readable (blocks until then); the status as of waitid. */
must_check int launched_reap(struct launched *launched, int *ret_status, struct error *err);
/* Applies the monitored mount at op again, after the host made it vanish. -1: it cannot be done, the tree must die. */
must_check int launch_repair_mount(struct launched *launched, const struct mount_op *op, struct error *err);
struct launched *launched_free(struct launched *launched);
CLEANUP_DEFINE(struct launched, launched_free)

#endif
