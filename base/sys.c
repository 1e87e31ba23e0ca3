/*
 * Raw system calls.
 *
 * Two reasons to go round glibc. Some calls have no wrapper in glibc 2.36 (clone3, openat2), or one whose header
 * clashes with the kernel's. Others have a wrapper that must not be used here: setresuid and its kin signal every
 * thread of the process to follow, and in a child made from a threaded process those threads do not exist, so the
 * wrapper would wait for ever. A raw call changes the calling thread alone, which in such a child is the whole process.
 */
#include "base/sys.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Threat: with CLONE_VM and no stack of its own the child would return through this very frame and overwrite the
 * parent's return address. Whoever wants shared memory needs an entry written for it.
 */
/* Fallback: a filter around us hides clone3 because it cannot read its flags; clone can do all but enter a cgroup. */
static pid_t clone_instead(const struct clone_args *args)
{
	if (args->flags > UINT32_MAX || args->exit_signal > 0xff) {
		errno = ENOSYS;
		return -1;
	}
	return (pid_t)syscall(SYS_clone, args->flags | args->exit_signal, NULL, args->pidfd, NULL, NULL);
}

pid_t sys_clone3(struct clone_args *args)
{
	pid_t pid;

	if (args->flags & CLONE_VM || args->stack != 0) {
		errno = EINVAL;
		return -1;
	}
	pid = (pid_t)syscall(SYS_clone3, args, sizeof *args);
	return pid < 0 && errno == ENOSYS ? clone_instead(args) : pid;
}

pid_t sys_clone3_blocked(struct clone_args *args)
{
	sigset_t all;
	sigset_t before;
	int clone_errno;
	pid_t pid;

	(void)sigfillset(&all);
	errno = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (errno != 0)
		return -1;
	pid = sys_clone3(args);
	if (pid == 0)
		return 0;
	clone_errno = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = clone_errno;
	return pid;
}

int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

int sys_move_mount(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path, unsigned flags)
{
	return (int)syscall(SYS_move_mount, from_dirfd, from_path, to_dirfd, to_path, flags);
}

int sys_mount_setattr(int dirfd, const char *path, unsigned flags, struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof *attr);
}

int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, aux);
}

int sys_fsmount(int fd, unsigned flags, unsigned attr_flags)
{
	return (int)syscall(SYS_fsmount, fd, flags, attr_flags);
}

int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

int sys_pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

int sys_pidfd_send_signal(int pidfd, int signo)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
}

int sys_setresuid(uid_t r, uid_t e, uid_t s)
{
	return (int)syscall(SYS_setresuid, r, e, s);
}

int sys_setresgid(gid_t r, gid_t e, gid_t s)
{
	return (int)syscall(SYS_setresgid, r, e, s);
}

int sys_setgroups(size_t n, const gid_t *groups)
{
	return (int)syscall(SYS_setgroups, n, groups);
}

int sys_capset(uint64_t permitted, uint64_t effective, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	unsigned i;

	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted = (uint32_t)(permitted >> (32 * i));
		data[i].effective = (uint32_t)(effective >> (32 * i));
		data[i].inheritable = (uint32_t)(inheritable >> (32 * i));
	}
	return (int)syscall(SYS_capset, &header, data);
}

int sys_execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return (int)syscall(SYS_execveat, dirfd, path, argv, envp, flags);
}

long sys_keyctl_join_session(void)
{
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

int sys_seccomp(unsigned op, unsigned flags, void *args)
{
	return (int)syscall(SYS_seccomp, op, flags, args);
}
