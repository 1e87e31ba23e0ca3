/*
 * The sandbox that a browser makes for its pages, without a browser: namespaces by clone, ids mapped from within, a
 * root directory in which nothing is, capabilities given up. Ends with 0 where every step of it works and holds.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static void put_map(const char *path, unsigned id)
{
	char text[64];

	snprintf(text, sizeof text, "%u %u 1", id, id);
	put(path, text);
}

/* Shares the caller's root directory: what this does to it, is done to both. */
static int leave_files(void *unused)
{
	(void)unused;
	need(chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0, "chroot");
	return 0;
}

static void reap(pid_t child, const char *what)
{
	int status = 0;

	need(waitpid(child, &status, 0) == child && status == 0, what);
}

static void be_sandboxed(unsigned uid, unsigned gid)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	put("/proc/self/setgroups", "deny");
	put_map("/proc/self/uid_map", uid);
	put_map("/proc/self/gid_map", gid);
	need(getuid() == uid && getpid() == 1, "an id and a pid of its own");
	pid_t child = clone(leave_files, stack + sizeof stack, CLONE_FS | SIGCHLD, NULL);
	need(child > 0, "clone with CLONE_FS");
	reap(child, "the child that leaves the files");
	need(open("/etc/passwd", O_RDONLY) < 0, "no file to be left");
	need(syscall(SYS_capset, &header, none) == 0, "capset");
	need(chroot("/") < 0, "no capability to be left");
	_exit(0);
}

int main(void)
{
	unsigned uid = getuid(), gid = getgid();
	long child = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);

	need(child >= 0, "clone with namespaces");
	if (child == 0)
		be_sandboxed(uid, gid);
	reap((pid_t)child, "the sandboxed child");
	puts("sandboxed");
	return 0;
}
