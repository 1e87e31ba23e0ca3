/*
 * Threat: the files of a process are those of its first thread, and empty once that one has ended, while the others
 * keep the memory and the descriptors. Where a process shows nothing resident and has more tasks, one that has is read.
 */
#include "cgroup/watch_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"

#define STATM_SIZE  160
#define FIELDS_MAX  20
#define PF_EXITING  0x4u
#define PROCESS_MAX (1u << 22) /* the kernel's own maximum of pids */

/* Fields of stat behind the name, counted from 0. */
enum stat_field {
	STAT_PARENT = 1,
	STAT_SESSION = 3,
	STAT_FLAGS = 6,
	STAT_USER = 11,
	STAT_SYSTEM = 12,
	STAT_CHILD_USER = 13,
	STAT_CHILD_SYSTEM = 14,
	STAT_TASKS = 17,
	STAT_START = 19
};

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

int watch_process_open_file(int proc_fd, pid_t pid, const char *name)
{
	char path[96];

	(void)snprintf(path, sizeof path, "%d/%s", (int)pid, name);
	return openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
}

static int open_thread_file(int proc_fd, pid_t pid, pid_t thread, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/%s", (int)thread, name);
	return watch_process_open_file(proc_fd, pid, path);
}

bool watch_process_has_vanished(int sys_errno)
{
	return sys_errno == ENOENT || sys_errno == ESRCH;
}

int watch_process_open(int proc_fd, const struct watch_process *process, const char *name)
{
	return process->thread == 0 ? watch_process_open_file(proc_fd, process->pid, name)
				    : open_thread_file(proc_fd, process->pid, process->thread, name);
}

ssize_t watch_process_read_text(int fd, char *buf, size_t size)
{
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0 && watch_process_has_vanished(errno))
		n = 0;
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t watch_process_read_file(int proc_fd, const struct watch_process *process, const char *name, char *buf, size_t size)
{
	cleanup_close int fd = watch_process_open(proc_fd, process, name);

	return watch_process_read_text(fd, buf, size);
}

pid_t watch_process_parse_pid(const char *name)
{
	char *end;
	long pid;

	if (name[0] < '1' || name[0] > '9')
		return 0;
	pid = strtol(name, &end, 10);
	return *end == '\0' && pid < PROCESS_MAX ? (pid_t)pid : 0;
}

bool watch_process_parse_stat(const char *text, struct watch_process *ret_process)
{
	const char *s = strrchr(text, ')'); /* the name may contain anything, ')' too */
	uint64_t fields[FIELDS_MAX] = {0};
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	int used = 0;

	if (s == NULL || sscanf(s, ") %c%n", &ret_process->state, &used) != 1)
		return false;
	s += used;
	for (size_t i = 1; i < FIELDS_MAX; i++) {
		char *end;

		fields[i] = strtoull(s, &end, 10);
		if (end == s)
			return false;
		s = end;
	}
	ret_process->parent = (pid_t)fields[STAT_PARENT];
	ret_process->session = (pid_t)fields[STAT_SESSION];
	ret_process->is_ending = (fields[STAT_FLAGS] & PF_EXITING) != 0;
	ret_process->own = (struct watch_cpu){fields[STAT_USER] * tick_ns, fields[STAT_SYSTEM] * tick_ns};
	ret_process->children =
		(struct watch_cpu){fields[STAT_CHILD_USER] * tick_ns, fields[STAT_CHILD_SYSTEM] * tick_ns};
	ret_process->tasks = fields[STAT_TASKS] == 0 ? 1 : fields[STAT_TASKS];
	ret_process->start_time = fields[STAT_START];
	return true;
}

bool watch_process_parse_statm(const char *text, struct watch_process *process)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long resident = 0, shared = 0;
	bool parsed = sscanf(text, "%*u %llu %llu", &resident, &shared) == 2;

	process->resident_bytes = parsed ? resident * page : 0;
	process->shared_bytes = parsed ? shared * page : 0;
	return parsed;
}

static bool thread_shows_memory(int proc_fd, struct watch_process *process, pid_t thread)
{
	cleanup_close int fd = open_thread_file(proc_fd, process->pid, thread, "statm");
	char text[STATM_SIZE];

	if (watch_process_read_text(fd, text, sizeof text) <= 0)
		return false;
	(void)watch_process_parse_statm(text, process);
	return process->resident_bytes > 0;
}

/* All threads share one memory. */
pid_t watch_process_find_thread(int proc_fd, struct watch_process *process)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	cleanup_close int fd = watch_process_open_file(proc_fd, process->pid, "task");
	struct dirent *entry;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir == NULL)
		return 0;
	(void)steal_fd(&fd);
	while ((entry = readdir(dir)) != NULL) {
		pid_t thread = watch_process_parse_pid(entry->d_name);

		if (thread > 0 && thread != process->pid && thread_shows_memory(proc_fd, process, thread))
			return thread;
	}
	return 0;
}

bool watch_process_look(int proc_fd, pid_t pid, struct watch_process *ret_process)
{
	char text[WATCH_STAT_SIZE];
	cleanup_close int fd = watch_process_open_file(proc_fd, pid, "stat");

	return watch_process_read_text(fd, text, sizeof text) > 0 && watch_process_parse_stat(text, ret_process);
}
