/*
 * Makes or joins namespaces, by every call that can. Threads must go on working: glibc starts them by clone3, which has
 * to answer ENOSYS for it to fall back.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

static const struct {
	const char *name;
	unsigned long flag;
} kinds[] = {
	{"user", CLONE_NEWUSER},
	{"mnt", CLONE_NEWNS},
	{"pid", CLONE_NEWPID},
	{"net", CLONE_NEWNET},
	{"ipc", CLONE_NEWIPC},
	{"uts", CLONE_NEWUTS},
	{"cgroup", CLONE_NEWCGROUP},
	{"user and mount", CLONE_NEWUSER | CLONE_NEWNS},
	{"user with garbage", 0x100000000UL | CLONE_NEWUSER},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static void reap(long child)
{
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid((pid_t)child, NULL, 0);
}

static void try_kind(size_t i)
{
	char what[96];

	snprintf(what, sizeof what, "clone %s", kinds[i].name);
	long child = syscall(SYS_clone, kinds[i].flag | SIGCHLD, 0, 0, 0, 0);
	reap(child);
	tried(what, child > 0);

	struct {
		unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = {.flags = kinds[i].flag, .exit_signal = SIGCHLD};
	snprintf(what, sizeof what, "clone3 %s", kinds[i].name);
	child = syscall(435, &arguments, sizeof arguments);
	reap(child);
	tried(what, child > 0 || errno != ENOSYS);

	child = fork();
	need(child >= 0, "fork");
	if (child == 0)
		_exit(syscall(SYS_unshare, kinds[i].flag) == 0 ? 1 : 0);
	int status = 0;
	need(waitpid((pid_t)child, &status, 0) == child, "wait");
	snprintf(what, sizeof what, "unshare %s", kinds[i].name);
	errno = EPERM;
	tried(what, WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void try_join(const char *kind)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/1/ns/%s", kind);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		tried(path, setns(fd, 0) == 0);
		close(fd);
	}
	snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0, path);
	tried(path, setns(fd, 0) == 0);
	close(fd);
}

static void try_join_by_process(void)
{
	long pidfd = syscall(434, 1, 0);

	need(pidfd >= 0, "pidfd_open");
	for (size_t i = 0; i < N_KINDS; i++)
		tried(kinds[i].name, syscall(SYS_setns, pidfd, (int)kinds[i].flag) == 0);
	close((int)pidfd);
}

static void *run_thread(void *done)
{
	*(bool *)done = true;
	return NULL;
}

int main(void)
{
	bool done = false;
	pthread_t thread;

	for (size_t i = 0; i < N_KINDS; i++)
		try_kind(i);
	for (size_t i = 0; i < 7; i++)
		try_join(kinds[i].name);
	try_join_by_process();
	need(pthread_create(&thread, NULL, run_thread, &done) == 0, "a thread");
	need(pthread_join(thread, NULL) == 0 && done, "a thread that ran");
	return verdict();
}
