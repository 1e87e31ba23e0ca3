/*
 * Order: the child makes its mounts, opens what the parent is to watch and sends the descriptors over the socket before
 * its body runs, so the parent has everything when fake_tree_start returns.
 */
#include "tests/unit/fake_init.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

#define VIEWS 5

static int open_views(int fds[VIEWS])
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("proc", "/proc", "proc", 0, NULL) < 0 ||
		mount("tmp", "/tmp", "tmpfs", 0, "size=256m") < 0)
		return -1;
	fds[0] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds[1] = open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC);
	fds[2] = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds[3] = open("/proc/sysvipc/sem", O_RDONLY | O_CLOEXEC);
	fds[4] = open("/proc/sysvipc/msg", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < VIEWS; i++) {
		if (fds[i] < 0)
			return -1;
	}
	return 0;
}

static _Noreturn void child(int control, void (*body)(int, void *), void *userdata)
{
	int fds[VIEWS];
	char go;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (recv(control, &go, 1, 0) != 1) /* the id maps have been written */
		_exit(90);
	if (open_views(fds) < 0) {
		(void)fd_send(control, strerror(errno), strlen(strerror(errno)), NULL, 0);
		_exit(91);
	}
	if (fd_send(control, "ok", 2, fds, VIEWS) < 0)
		_exit(92);
	body(control, userdata);
	_exit(0);
}

static void write_map(pid_t pid, const char *name, unsigned id)
{
	char path[64], text[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	(void)snprintf(text, sizeof text, "%u %u 1\n", id, id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text), "%s: %s", path, strerror(errno));
	(void)close(fd);
}

static void map_ids(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/setgroups", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "deny", 4), 4);
	(void)close(fd);
	write_map(pid, "uid_map", (unsigned)geteuid());
	write_map(pid, "gid_map", (unsigned)getegid());
}

struct fake_tree fake_tree_start(void (*body)(int control, void *userdata), void *userdata)
{
	struct fake_tree tree = {.pidfd = -1};
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uintptr_t)&tree.pidfd};
	int ends[2], fds[VIEWS];
	size_t n_fds = 0;
	char answer[128] = "";

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	tree.pid = sys_clone3(&args);
	cr_assert_geq(tree.pid, 0, "clone3: %s", strerror(errno));
	if (tree.pid == 0) {
		(void)close(ends[0]);
		child(ends[1], body, userdata);
	}
	(void)close(ends[1]);
	map_ids(tree.pid);
	cr_assert_eq(send(ends[0], "g", 1, MSG_NOSIGNAL), 1);
	cr_assert_gt(fd_receive(ends[0], answer, sizeof answer - 1, fds, VIEWS, &n_fds, 0), 0);
	cr_assert_eq(n_fds, VIEWS, "mounts in the new namespace: %s", answer);
	tree.control_fd = ends[0];
	tree.proc_fd = fds[0];
	tree.sysvipc_fd = fds[1];
	tree.tmpfs_fd = fds[2];
	tree.sem_fd = fds[3];
	tree.msg_fd = fds[4];
	return tree;
}

pid_t fake_tree_fork(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	return sys_clone3(&args);
}

void fake_tree_stop(struct fake_tree *tree)
{
	int *const fds[] = {&tree->pidfd, &tree->proc_fd, &tree->sysvipc_fd, &tree->sem_fd, &tree->msg_fd,
		&tree->tmpfs_fd, &tree->control_fd};

	if (tree->pidfd >= 0) {
		(void)sys_pidfd_send_signal(tree->pidfd, SIGKILL);
		(void)waitid(P_PIDFD, (id_t)tree->pidfd, &(siginfo_t){0}, WEXITED | __WALL);
	}
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		cleanup_close_fd(fds[i]);
}
