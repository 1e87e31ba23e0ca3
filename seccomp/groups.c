/*
 * What the built-in profiles allow, read from top to bottom; it ends in refusals.
 *
 * An allow list: what is in no allowed group is refused. How it is refused matters as much. ENOSYS says "this kernel
 * has no such call": libraries then fall back to the older one, so it is the answer for calls too new or too rich to be
 * needed (clone3, openat2, io_uring) and for numbers nobody knows yet. EPERM is the answer for what a program must
 * understand to be forbidden, and for changes of owner, which copying programs go on without when it is EPERM. A
 * refused call is never asked of the kernel, whatever its arguments are.
 *
 * Decisions worth a reason:
 * ptrace, process_vm_*, kcmp, pidfd_getfd: refused. They reach into other processes; debuggers need "allow".
 * chroot, mount and their like need capabilities the command lacks, but would not if it made a user namespace; both are
 *   refused, so that each holds when the other is lifted. Nested namespaces lift both.
 * landlock, seccomp: allowed. They only take away.
 * vmsplice, tee, splice: allowed; they move the caller's own bytes.
 * uretprobe, uprobe: allowed; the kernel itself puts them under programs that the host's tracing looks at.
 * mlock and the like are bounded by limits, not here.
 *
 * One string a group rather than arrays of pointers: nothing to relocate when the program starts.
 */
#include "seccomp/groups.h"

#include <errno.h>
#include <string.h>

const struct syscall_group syscall_groups[] = {
	{"reading and writing", GROUP_STRICT, ENOSYS,
		"read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek sendfile splice tee "
		"copy_file_range readahead fadvise64"},
	{"opening and closing", GROUP_STRICT, ENOSYS,
		"open openat creat close close_range dup dup2 dup3 fcntl ioctl flock pipe pipe2 memfd_create"},
	{"looking at files", GROUP_STRICT, ENOSYS,
		"stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents getdents64 "
		"statfs fstatfs getcwd"},
	{"reading attributes", GROUP_STRICT, ENOSYS,
		"getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr getxattrat listxattrat file_getattr"},
	{"changing the tree", GROUP_STRICT, ENOSYS,
		"mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat chdir "
		"fchdir chmod fchmod fchmodat fchmodat2 umask utime utimes utimensat futimesat truncate ftruncate "
		"fallocate sync syncfs fsync fdatasync sync_file_range"},
	{"memory", GROUP_STRICT, ENOSYS,
		"mmap munmap mremap mprotect madvise brk msync mincore mlock mlock2 mlockall munlock munlockall "
		"membarrier pkey_mprotect pkey_alloc pkey_free mseal map_shadow_stack remap_file_pages"},
	{"processes and threads", GROUP_STRICT, ENOSYS,
		"clone fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid getpgrp "
		"setpgid getsid setsid set_tid_address set_robust_list get_robust_list rseq futex futex_waitv "
		"futex_wake futex_wait futex_requeue arch_prctl prctl pidfd_open pidfd_send_signal restart_syscall "
		"uretprobe uprobe"},
	{"signals", GROUP_STRICT, ENOSYS,
		"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo "
		"rt_tgsigqueueinfo rt_sigsuspend sigaltstack kill tkill tgkill pause signalfd signalfd4"},
	{"time", GROUP_STRICT, ENOSYS,
		"clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times alarm getitimer "
		"setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_create "
		"timerfd_settime timerfd_gettime"},
	{"waiting for events", GROUP_STRICT, ENOSYS,
		"poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 "
		"eventfd eventfd2"},
	{"who and where am I", GROUP_STRICT, ENOSYS,
		"getuid geteuid getgid getegid getresuid getresgid getgroups capget uname sysinfo getrandom getcpu "
		"getrusage getrlimit setrlimit prlimit64"},
	{"identity within the namespace", GROUP_STRICT, ENOSYS,
		"setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset"},
	{"own scheduling", GROUP_STRICT, ENOSYS,
		"sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler sched_getattr "
		"sched_get_priority_max sched_get_priority_min sched_rr_get_interval getpriority"},
	{"a connected pair", GROUP_STRICT, ENOSYS,
		"socketpair sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername "
		"getsockopt setsockopt"},

	{"sockets", GROUP_DEFAULT, ENOSYS, "socket bind listen accept accept4 connect"},
	{"owners and special files", GROUP_DEFAULT, EPERM, "chown fchown lchown fchownat mknod mknodat"},
	{"writing attributes", GROUP_DEFAULT, EOPNOTSUPP,
		"setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr removexattrat"},
	{"watching files", GROUP_DEFAULT, ENOSYS, "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch"},
	{"priority and policy of the own process", GROUP_DEFAULT, ENOSYS,
		"sched_setparam sched_setscheduler sched_setattr setpriority ioprio_get ioprio_set get_mempolicy"},
	{"System V and POSIX message passing", GROUP_DEFAULT, ENOSYS,
		"shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink "
		"mq_timedsend mq_timedreceive mq_notify mq_getsetattr"},
	{"asynchronous input and output", GROUP_DEFAULT, ENOSYS,
		"io_setup io_destroy io_getevents io_pgetevents io_submit io_cancel vmsplice cachestat"},
	{"giving up rights", GROUP_DEFAULT, ENOSYS,
		"seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self"},
	{"processes by descriptor", GROUP_DEFAULT, ENOSYS, "process_mrelease"},
	{"harmless execution domains", GROUP_DEFAULT, EPERM, "personality"},

	{"namespaces", GROUP_NESTED, EPERM, "unshare setns"},
	{"mounts", GROUP_NESTED, EPERM,
		"mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick "
		"mount_setattr"},
	{"names of the host", GROUP_NESTED, EPERM, "sethostname setdomainname"},

	{"other processes", GROUP_NEVER, EPERM,
		"ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd"},
	{"programs in the kernel, and looking into it", GROUP_NEVER, EPERM,
		"bpf perf_event_open userfaultfd syslog lookup_dcookie"},
	{"replacing the kernel", GROUP_NEVER, EPERM,
		"kexec_load kexec_file_load init_module finit_module delete_module reboot"},
	{"keyrings", GROUP_NEVER, EPERM, "add_key request_key keyctl"},
	{"files by handle, and watching the whole host", GROUP_NEVER, EPERM,
		"open_by_handle_at name_to_handle_at fanotify_init fanotify_mark"},
	{"the host's clock", GROUP_NEVER, EPERM, "settimeofday clock_settime adjtimex clock_adjtime"},
	{"the host's disks and accounts", GROUP_NEVER, EPERM, "swapon swapoff quotactl quotactl_fd acct nfsservctl"},
	{"ports, segments, terminals", GROUP_NEVER, EPERM, "iopl ioperm modify_ldt vhangup"},
	{"placement of memory on nodes", GROUP_NEVER, EPERM,
		"mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages"},
	{"memory that nobody can look into", GROUP_NEVER, EPERM, "memfd_secret"},

	{"calls whose flags a filter cannot read", GROUP_NEVER, ENOSYS, "clone3 openat2 setxattrat file_setattr"},
	{"input and output past the filter", GROUP_NEVER, ENOSYS, "io_uring_setup io_uring_enter io_uring_register"},
	{"listings of mounts and security modules", GROUP_NEVER, ENOSYS,
		"statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules"},
	{"calls of the past", GROUP_NEVER, ENOSYS,
		"uselib ustat sysfs _sysctl create_module get_kernel_syms query_module getpmsg putpmsg afs_syscall "
		"tuxcall security set_thread_area get_thread_area epoll_ctl_old epoll_wait_old vserver"},
};
const size_t syscall_groups_n = sizeof syscall_groups / sizeof *syscall_groups;

size_t syscall_group_next(const char **names, char name[SYSCALL_NAME_SIZE])
{
	size_t size = strcspn(*names, " ");

	if (size == 0 || size >= SYSCALL_NAME_SIZE)
		return 0;
	memcpy(name, *names, size);
	name[size] = '\0';
	*names += size;
	if (**names == ' ')
		(*names)++;
	return size;
}
