/*
 * System calls that glibc 2.36 does not wrap, or must not be called through glibc in a child of a threaded process:
 * there set*id broadcasts to threads that do not exist in the child. All return -1 with errno, async-signal-safe.
 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct open_how;
struct mount_attr;
struct clone_args;

/* fork-like: returns the pid, 0 in the child, with only the calling thread there. In the child of a threaded process
 * no allocation, lock or stdio may follow. */
pid_t sys_clone3(struct clone_args *args);
/* The same with every signal blocked in the child from its first instruction on, so that no handler of the caller's
 * runs there; the parent's mask is as before. */
pid_t sys_clone3_blocked(struct clone_args *args);
int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);
int sys_open_tree(int dirfd, const char *path, unsigned flags);
int sys_move_mount(int from_dirfd, const char *from_path, int to_dirfd, const char *to_path, unsigned flags);
int sys_mount_setattr(int dirfd, const char *path, unsigned flags, struct mount_attr *attr);
int sys_fsopen(const char *type, unsigned flags);
int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux);
int sys_fsmount(int fd, unsigned flags, unsigned attr_flags);
int sys_pivot_root(const char *new_root, const char *put_old);
int sys_close_range(unsigned first, unsigned last, unsigned flags);
int sys_pidfd_open(pid_t pid, unsigned flags);
int sys_pidfd_send_signal(int pidfd, int signo);
int sys_setresuid(uid_t r, uid_t e, uid_t s);
int sys_setresgid(gid_t r, gid_t e, gid_t s);
int sys_setgroups(size_t n, const gid_t *groups);
/* Sets permitted, effective and inheritable to these 64-bit masks. */
int sys_capset(uint64_t permitted, uint64_t effective, uint64_t inheritable);
int sys_execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags);
long sys_keyctl_join_session(void); /* a fresh anonymous session keyring */
int sys_seccomp(unsigned op, unsigned flags, void *args);

#endif
