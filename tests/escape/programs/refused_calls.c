/*
 * Calls that a confined command has no use for, with arguments that do no harm. The answer must come from the filter
 * (EPERM or ENOSYS, or death by SIGSYS): anything else means that the kernel looked at the arguments.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

struct call {
	const char *name;
	long number;
	long arguments[5];
};

#define NOWHERE (-1L)

/* Numbers from 424 on are the same on every architecture; names that this C library lacks stand as numbers. */
static const struct call calls[] = {
	{"mount", SYS_mount, {NOWHERE, NOWHERE, NOWHERE}},
	{"umount2", SYS_umount2, {NOWHERE}},
	{"pivot_root", SYS_pivot_root, {NOWHERE, NOWHERE}},
	{"open_tree", 428, {NOWHERE, NOWHERE, 1}},
	{"move_mount", 429, {NOWHERE, NOWHERE, NOWHERE, NOWHERE}},
	{"fsopen", 430, {NOWHERE}},
	{"fsconfig", 431, {NOWHERE, 1}},
	{"fsmount", 432, {NOWHERE}},
	{"fspick", 433, {NOWHERE, NOWHERE}},
	{"mount_setattr", 442, {NOWHERE, NOWHERE, 0, NOWHERE, 32}},
	{"open_tree_attr", 467, {NOWHERE, NOWHERE, 1}},
	{"unshare user", SYS_unshare, {CLONE_NEWUSER}},
	{"unshare mount", SYS_unshare, {CLONE_NEWNS}},
	{"unshare with garbage", SYS_unshare, {0x100000000L | CLONE_NEWUSER}},
	{"setns", SYS_setns, {NOWHERE, 0}},
	{"clone3", 435, {NOWHERE, 64}},
	{"openat2", 437, {NOWHERE, NOWHERE, NOWHERE, 24}},
	{"fcntl for a lease", SYS_fcntl, {NOWHERE, F_SETLEASE, F_RDLCK}},
	{"fcntl for a lease, with garbage", SYS_fcntl, {NOWHERE, 0x100000000L | F_SETLEASE, F_RDLCK}},
	{"fcntl for a delegation", SYS_fcntl, {NOWHERE, 1040, NOWHERE}},
	{"keyctl", SYS_keyctl, {0, -3, 0}},
	{"add_key", SYS_add_key, {NOWHERE, NOWHERE, 0, 0, -3}},
	{"request_key", SYS_request_key, {NOWHERE, NOWHERE, 0, -3}},
	{"userfaultfd", SYS_userfaultfd, {0x7fff0000}},
	{"bpf", SYS_bpf, {0x7fff, NOWHERE, 8}},
	{"perf_event_open", SYS_perf_event_open, {NOWHERE, 0, NOWHERE, NOWHERE}},
	{"io_uring_setup", 425, {4, NOWHERE}},
	{"io_uring_enter", 426, {NOWHERE}},
	{"io_uring_register", 427, {NOWHERE}},
	{"kexec_load", SYS_kexec_load, {0, 0, 0, 0x7fff}},
	{"kexec_file_load", SYS_kexec_file_load, {NOWHERE, NOWHERE}},
	{"init_module", SYS_init_module, {NOWHERE, 1, NOWHERE}},
	{"finit_module", SYS_finit_module, {NOWHERE, NOWHERE, 0x7fff}},
	{"delete_module", SYS_delete_module, {NOWHERE, 0}},
	{"iopl", SYS_iopl, {9}},
	{"ioperm", SYS_ioperm, {0x7fffffff, 9, 1}},
	{"acct", SYS_acct, {NOWHERE}},
	{"swapon", SYS_swapon, {NOWHERE, 0}},
	{"swapoff", SYS_swapoff, {NOWHERE}},
	{"reboot", SYS_reboot, {0, 0, 0}},
	{"settimeofday", SYS_settimeofday, {NOWHERE, NOWHERE}},
	{"clock_settime", SYS_clock_settime, {0, NOWHERE}},
	{"sethostname", SYS_sethostname, {NOWHERE, 1}},
	{"setdomainname", SYS_setdomainname, {NOWHERE, 1}},
	{"quotactl", SYS_quotactl, {NOWHERE, NOWHERE}},
	{"quotactl_fd", 443, {NOWHERE, NOWHERE}},
	{"syslog", SYS_syslog, {3, NOWHERE, 1}},
	{"vhangup", SYS_vhangup, {0}},
	{"lookup_dcookie", SYS_lookup_dcookie, {0, NOWHERE, 0}},
	{"open_by_handle_at", SYS_open_by_handle_at, {NOWHERE, NOWHERE, 0}},
	{"fanotify_init", SYS_fanotify_init, {0x7fffffff, 0}},
	{"process_vm_readv", SYS_process_vm_readv, {1, NOWHERE, 1, NOWHERE, 1}},
	{"process_vm_writev", SYS_process_vm_writev, {1, NOWHERE, 1, NOWHERE, 1}},
	{"process_madvise", 440, {NOWHERE, NOWHERE, 1, 0, 77}},
	{"ptrace: PTRACE_TRACEME", SYS_ptrace, {0}},
	{"memfd_secret", 447, {0x7fffffff}},
	{"name_to_handle_at", SYS_name_to_handle_at, {NOWHERE, NOWHERE, NOWHERE, NOWHERE, 0}},
	{"fanotify_mark", SYS_fanotify_mark, {NOWHERE, 0x7fff}},
	{"adjtimex", SYS_adjtimex, {NOWHERE}},
	{"clock_adjtime", SYS_clock_adjtime, {77, NOWHERE}},
	{"chroot", SYS_chroot, {NOWHERE}},
	{"mbind", SYS_mbind, {1, 1, 77}},
	{"set_mempolicy", SYS_set_mempolicy, {77}},
	{"migrate_pages", SYS_migrate_pages, {0, NOWHERE, NOWHERE, NOWHERE}},
	{"pidfd_getfd", 438, {NOWHERE, 0, 0}},
	{"kcmp", SYS_kcmp, {1, 1, 99}},
	{"move_pages of init", SYS_move_pages, {1, 1, NOWHERE, NOWHERE, NOWHERE}},
	{"modify_ldt", SYS_modify_ldt, {77, NOWHERE, 0}},
	{"personality", SYS_personality, {0x1234}},
	{"a number of the future", 1000, {NOWHERE}},
};

/* Inside a child, as a filter may kill. Exit status: 0 for an answer of the filter, else the errno, 255 for success. */
static void ask(const struct call *call)
{
	const long *a = call->arguments;

	errno = 0;
	long answer = syscall(call->number, a[0], a[1], a[2], a[3], a[4]);
	if (answer >= 0)
		_exit(255);
	_exit(errno == EPERM || errno == ENOSYS ? 0 : errno);
}

static void try_call(const struct call *call)
{
	char what[128];
	int status = 0;
	pid_t child = fork();

	need(child >= 0, "fork");
	if (child == 0)
		ask(call);
	need(waitpid(child, &status, 0) == child, "wait");
	bool filtered = WIFSIGNALED(status) ? WTERMSIG(status) == SIGSYS : WEXITSTATUS(status) == 0;
	int answer = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	errno = 0;
	snprintf(what, sizeof what, "%s: the kernel said %s", call->name,
		filtered                ? "no by the filter"
			: answer == 255 ? "yes"
					: strerror(answer));
	tried(what, !filtered);
}

int main(void)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		try_call(&calls[i]);
	return verdict();
}
