/*
 * The kernel knows a user namespace by a process in it, so idmap_namespace() makes a throw-away child that does
 * nothing, maps it from outside, keeps a descriptor of the namespace and kills the child.
 *
 * The child has no exit signal: a host program's SIGCHLD handler never hears of it, and its wait(-1) cannot take it
 * away. It dies with the calling thread: should the caller be killed just then, nothing is left behind that holds
 * anything.
 *
 * It shares the caller's memory and descriptors, for to copy them takes longer than all the rest. So it does nothing
 * but three system calls that cannot fail here, on a stack of its own, with every signal blocked, and the caller goes
 * on only when it is dead. Nobody is in its namespace who could trace it: outside it has the caller's own uid.
 */
#include "ns/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

#define HOLDER_STACK 8192

static int write_file(pid_t pid, const char *file, const char *text, struct error *err)
{
	char path[64];
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, text, strlen(text));
	if (n == (ssize_t)strlen(text))
		return 0;
	return error_set_errno(
		err, ERROR_UNENFORCEABLE, n < 0 ? errno : EIO, file, "the ids of a user namespace cannot be mapped");
}

int idmap_write(pid_t pid, const struct idmap *map, struct error *err)
{
	char text[64];

	if (map->deny_setgroups && write_file(pid, "setgroups", "deny", err) < 0)
		return -1;
	(void)snprintf(text, sizeof text, "%u %u 1", map->inner_gid, map->outer_gid);
	if (write_file(pid, "gid_map", text, err) < 0)
		return -1;
	(void)snprintf(text, sizeof text, "%u %u 1", map->inner_uid, map->outer_uid);
	return write_file(pid, "uid_map", text, err);
}

static int map_and_open(pid_t pid, const struct idmap *map, struct error *err)
{
	char path[64];
	int fd;

	if (idmap_write(pid, map, err) < 0)
		return -1;
	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "open user namespace", "%s", path);
	return fd;
}

/* Threat: the caller's thread-local memory is this process's, too, and libc's pause() notes in it, where there are
 * threads, that the thread may be cancelled anywhere from now on; and errno lies there. So it goes round libc. */
static void pause_outside_libc(void)
{
	long number = SYS_pause;

	__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
}

static int hold_namespace(void *userdata)
{
	const pid_t *parent = userdata;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* Race: the parent may have died before the signal was asked for. */
	while (getppid() == *parent)
		pause_outside_libc();
	return 0;
}

/* Order: its stack is the caller's, who may go on only when nobody stands on it any more. */
static void wait_dead(int pidfd)
{
	struct pollfd death = {.fd = pidfd, .events = POLLIN};
	siginfo_t info;

	while (poll(&death, 1, -1) < 0 && errno == EINTR)
		;
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
}

/* Returns its pid, or -1 with errno. */
static pid_t make_holder(char *stack, size_t size, pid_t *parent, int *ret_pidfd)
{
	sigset_t all, before;
	int clone_errno;
	pid_t pid;

	(void)sigfillset(&all);
	errno = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (errno != 0)
		return -1;
	pid = clone(
		hold_namespace, stack + size, CLONE_VM | CLONE_FILES | CLONE_NEWUSER | CLONE_PIDFD, parent, ret_pidfd);
	clone_errno = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = clone_errno;
	return pid;
}

int idmap_namespace(const struct idmap *map, struct error *err)
{
	_Alignas(16) char stack[HOLDER_STACK];
	cleanup_close int pidfd = -1;
	pid_t parent = getpid();
	pid_t pid = make_holder(stack, sizeof stack, &parent, &pidfd);
	int fd;

	if (pid < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "clone", "a user namespace for id-mapped mounts");
	fd = map_and_open(pid, map, err);
	(void)sys_pidfd_send_signal(pidfd, SIGKILL);
	wait_dead(pidfd);
	return fd;
}
