/* The processes of a tree, by a proc mount: resident memory, tasks, CPU time. */
#ifndef CGROUP_WATCH_TREE_H
#define CGROUP_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cgroup/watch_process.h"

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

#endif
