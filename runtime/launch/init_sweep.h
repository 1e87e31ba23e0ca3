/* A signal to all descendants of a process, where no pid namespace does it. Without a C library, because init has none. */
#ifndef LAUNCH_INIT_SWEEP_H
#define LAUNCH_INIT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct init_sweep {
	int proc_fd; /* the proc of the caller's pid namespace */
	long root;
	int root_pidfd; /* -1: the caller is the root itself */
	int signo;
	char *names; /* NULL, or where the names of those found alive are put, terminated */
	size_t names_size;
	/* out */
	uint32_t living, refused; /* found alive; and of these, not the caller's to signal */
	bool scan;                /* the kernel lists no children: all of proc is looked at */
};

/* One pass. What is forked meanwhile, or lies very deep, is for the next one to find. signo 0 only counts. */
void init_sweep(struct init_sweep *sweep);

#endif
