/*
 * Attacks on pid 1 inside: whoever can stop, starve or read it has the boundary's other half in hand.
 *
 *   against_init [--then-sleep]     afterwards sleeps for ever, so that the caller sees whether the deadline still works
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "hostile.h"

/* Some files may be opened by anybody and then take nothing: what counts is that a byte goes in or comes out. Of the
 * memory and the program an open descriptor is enough. */
static void try_open(const char *path, int flags, bool open_is_enough)
{
	char byte = '0';
	int fd = open(path, flags | O_CLOEXEC);
	bool through = fd >= 0 && (open_is_enough || (flags == O_RDONLY ? read(fd, &byte, 1) : write(fd, &byte, 1)) > 0);

	tried(path, through);
	if (fd >= 0)
		close(fd);
}

static void try_files(void)
{
	static const char *const written[] = {"/proc/1/oom_score_adj", "/proc/1/comm", "/proc/1/coredump_filter",
		"/proc/1/autogroup", "/proc/1/timerslack_ns", "/proc/1/clear_refs", "/proc/1/uid_map",
		"/proc/1/gid_map", "/proc/1/setgroups", "/proc/1/attr/current"};
	static const char *const read_only[] = {
		"/proc/1/environ", "/proc/1/maps", "/proc/1/auxv", "/proc/1/io", "/proc/1/stack", "/proc/1/syscall"};
	static const char *const listed[] = {
		"/proc/1/fd", "/proc/1/fdinfo", "/proc/1/map_files", "/proc/1/root/", "/proc/1/cwd/"};

	try_open("/proc/1/mem", O_RDONLY, true);
	try_open("/proc/1/mem", O_WRONLY, true);
	try_open("/proc/1/exe", O_WRONLY, true);
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		try_open(written[i], O_WRONLY, false);
	for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++)
		try_open(read_only[i], O_RDONLY, false);
	for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
		DIR *directory = opendir(listed[i]);

		tried(listed[i], directory != NULL);
		if (directory)
			closedir(directory);
	}
}

static void try_debugging(void)
{
	char byte = 0;
	struct iovec here = {&byte, 1};
	struct iovec there = {(void *)0x400000, 1};
	long pidfd = syscall(434, 1, 0);

	tried("ptrace attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0);
	tried("ptrace seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL) == 0);
	tried("process_vm_readv", process_vm_readv(1, &here, 1, &there, 1, 0) >= 0);
	tried("process_vm_writev", process_vm_writev(1, &here, 1, &there, 1, 0) >= 0);
	for (int fd = 0; fd < 8; fd++)
		tried("pidfd_getfd", pidfd >= 0 && syscall(438, pidfd, fd, 0) >= 0);
	tried("process_madvise", pidfd >= 0 && syscall(440, pidfd, &there, 1, 20, 0) >= 0);
}

static void try_starving(void)
{
	static const struct rlimit nothing = {0, 0};
	struct sched_param lowest = {0};
	unsigned long one_cpu = 1;

	tried("prlimit NOFILE", prlimit(1, RLIMIT_NOFILE, &nothing, NULL) == 0);
	tried("prlimit CPU", prlimit(1, RLIMIT_CPU, &nothing, NULL) == 0);
	tried("prlimit AS", prlimit(1, RLIMIT_AS, &nothing, NULL) == 0);
	tried("prlimit with garbage above the pid",
		syscall(SYS_prlimit64, 0x100000001UL, RLIMIT_NOFILE, &nothing, NULL) == 0);
	tried("setpriority of the process", setpriority(PRIO_PROCESS, 1, 19) == 0);
	tried("setpriority of the group", setpriority(PRIO_PGRP, 1, 19) == 0);
	tried("setpriority of the user", setpriority(PRIO_USER, 0, 19) == 0);
	tried("setpriority with garbage", syscall(SYS_setpriority, 0x100000000UL | PRIO_USER, 0, 19) == 0);
	tried("SCHED_IDLE", sched_setscheduler(1, SCHED_IDLE, &lowest) == 0);
	tried("sched_setparam", sched_setparam(1, &lowest) == 0);
	tried("sched_setaffinity", syscall(SYS_sched_setaffinity, 1, sizeof one_cpu, &one_cpu) == 0);
	tried("ioprio_set of the process", syscall(SYS_ioprio_set, 1, 1, 3 << 13) == 0);
	tried("ioprio_set of the user", syscall(SYS_ioprio_set, 3, 0, 3 << 13) == 0);
	tried("setpgid", setpgid(1, 0) == 0);
	tried("migrate_pages", syscall(SYS_migrate_pages, 1, 64, &one_cpu, &one_cpu) >= 0);
}

/* Signals to pid 1 are "sent"; what counts is that it is still there, not stopped, and still reaps. */
static void try_signals(void)
{
	char state = '?';
	char line[512] = "";

	for (int signo = 1; signo <= 64; signo++)
		kill(1, signo);
	usleep(100000);
	FILE *file = fopen("/proc/1/stat", "re");
	need(file && fgets(line, sizeof line, file), "/proc/1/stat");
	fclose(file);
	state = strrchr(line, ')')[2];
	errno = 0;
	tried("64 signals: init is stopped or dead", state != 'S' && state != 'R');
	pid_t middle = fork();
	need(middle >= 0, "fork");
	if (middle == 0) {
		if (fork() == 0)
			_exit(0);
		_exit(0);
	}
	need(waitpid(middle, NULL, 0) == middle, "wait");
}

int main(int argc, char **argv)
{
	if (geteuid() == 0 && getpid() < 100)
		printf("as uid 0 inside\n");
	try_files();
	try_debugging();
	try_starving();
	try_signals();
	if (argc > 1 && strcmp(argv[1], "--then-sleep") == 0)
		for (;;)
			pause();
	return verdict();
}
