/* The processes of a tree, by a proc mount: resident memory, tasks, CPU time. */
#ifndef CGROUP_WATCH_TREE_H
#define CGROUP_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

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

struct watch_tree {
	int proc_fd; /* our own, opened for reading */
	pid_t root;  /* 0: all in the proc are the tree's; else only what descends from this process, the init */
	struct watch_process *processes;
	size_t n;
	size_t n_kept; /* open statm_fds */
	struct watch_process init;
	struct watch_cpu vanished; /* of processes that are gone, as last seen */
	struct watch_cpu cpu;      /* of the whole tree; never decreases */
	uint64_t tasks;
	char *buffer;
};

#define WATCH_BUFFER_SIZE 32768

must_check int watch_tree_init(struct watch_tree *tree, int proc_fd, pid_t root, struct error *err);
void watch_tree_done(struct watch_tree *tree);
/* Who is there (without the init) and how much each has resident. */
must_check int watch_tree_list(struct watch_tree *tree, struct error *err);
/* The stat file of each: tasks and CPU time. */
void watch_tree_read_stats(struct watch_tree *tree);
/* Opens a file or directory of /proc/PID that is about its memory or its descriptors, by a thread that lives. Returns
 * the fd, or -1 with errno. */
int watch_tree_open(const struct watch_tree *tree, const struct watch_process *process, const char *name);
/* Reads such a file into buf, terminated. The size, 0 where the process has gone, -1 with errno where it must not be
 * read. */
ssize_t watch_tree_read_file(
	const struct watch_tree *tree, const struct watch_process *process, const char *name, char *buf, size_t size);
/* Whether an open or read that failed with this errno means no more than that the process has gone. Pure. */
bool watch_tree_has_vanished(int sys_errno);
/* The stat file of a process as it is now; false where it has gone. */
bool watch_tree_look(const struct watch_tree *tree, pid_t pid, struct watch_process *ret_process);
/* Fills the fields that come from the stat file. False where the text is not one. Pure. */
bool watch_tree_parse_stat(const char *text, struct watch_process *ret_process);

#endif
