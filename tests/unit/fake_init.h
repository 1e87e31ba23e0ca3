/*
 * A pid namespace with a proc of its own and a small init, for what watches process trees: no boundary, no pinfold
 * launch. Needs the right to make namespaces.
 */
#ifndef TESTS_UNIT_FAKE_INIT_H
#define TESTS_UNIT_FAKE_INIT_H

#include <sys/types.h>

struct fake_tree {
	pid_t pid; /* init, as seen from outside */
	int pidfd;
	int proc_fd;    /* root of its proc */
	int sysvipc_fd; /* its /proc/sysvipc/shm */
	int sem_fd;     /* and sem */
	int msg_fd;     /* and msg */
	int tmpfs_fd;   /* a tmpfs of its own, mounted on /tmp inside */
	int control_fd; /* the parent's end of a seqpacket socket; the other end is the init's */
};

/* Runs body(control, userdata) as pid 1 in new user, pid, mount and ipc namespaces, where /proc and /tmp are new. The
 * memory is the caller's, copied; other threads do not exist there. Ends the test on failure. */
struct fake_tree fake_tree_start(void (*body)(int control, void *userdata), void *userdata);
/* fork(2) without the C library's part in it, whose locks may be held by threads that do not exist in the tree. */
pid_t fake_tree_fork(void);
/* Kills and reaps it where that has not been done. */
void fake_tree_stop(struct fake_tree *tree);

#endif
