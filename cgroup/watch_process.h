/* One process of a tree, by its files below a proc mount. */
#ifndef CGROUP_WATCH_PROCESS_H
#define CGROUP_WATCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCH_STAT_SIZE 1024 /* of the text of a stat file */

struct watch_cpu {
	uint64_t user_ns, system_ns;
};

struct watch_process {
	pid_t pid;
	pid_t thread; /* 0, or the one to read instead, as the first thread has ended and the others live on */
	int statm_fd; /* kept open for the first few, else -1 */
	uint64_t resident_bytes, shared_bytes;
	uint64_t table_bytes; /* page tables, which are not resident memory; 0 until watch_memory_tables */
	bool stat_read;       /* the rest is from its stat file */
	uint64_t start_time;
	pid_t parent, session;
	char state;
	bool is_ending; /* it runs no more code of its own and is giving back what it has */
	uint64_t tasks;
	uint64_t ending_ns;             /* since when a search found it so; 0: it did not */
	struct watch_cpu own, children; /* children: those it has waited for */
};

/* Opens a file or directory of /proc/PID, of all threads. Returns the fd, or -1 with errno. */
int watch_process_open_file(int proc_fd, pid_t pid, const char *name);
/* The same of what is about its memory or its descriptors, by a thread that lives. */
int watch_process_open(int proc_fd, const struct watch_process *process, const char *name);
/* Reads such a file into buf, terminated. The size, 0 where the process has gone, -1 with errno where it must not be
 * read. */
ssize_t watch_process_read_file(
	int proc_fd, const struct watch_process *process, const char *name, char *buf, size_t size);
/* The same of a descriptor, which stays the caller's; -1: it could not be opened, for the reason in errno. */
ssize_t watch_process_read_text(int fd, char *buf, size_t size);
/* Whether an open or read that failed with this errno means no more than that the process has gone. Pure. */
bool watch_process_has_vanished(int sys_errno);
/* The stat file of a process as it is now; false where it has gone. */
bool watch_process_look(int proc_fd, pid_t pid, struct watch_process *ret_process);
/* The first thread besides the first one that shows memory, which goes to process; 0 where none does. */
pid_t watch_process_find_thread(int proc_fd, struct watch_process *process);
/* Fill the fields that come from the stat and the statm file. False where the text is not one. Pure. */
bool watch_process_parse_stat(const char *text, struct watch_process *ret_process);
bool watch_process_parse_statm(const char *text, struct watch_process *process);
/* The number that is a name in proc; 0 where it is none. Pure. */
pid_t watch_process_parse_pid(const char *name);

#endif
