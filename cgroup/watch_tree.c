/*
 * The table of processes, refreshed at each look.
 *
 * The proc mount is the sandbox's own, so what is listed in it is the tree and nothing else; pid 1 is the init and is
 * not counted. Without a boundary it is the host's, and only what descends from the init is looked at. A process may
 * vanish between being listed and being read: that is no error, it simply has nothing any more.
 *
 * CPU time has two lower bounds: what living processes used, with the children they waited for (which loses processes
 * nobody waited for), and what each process had used when it was last seen (which loses short ones). The larger one is
 * taken, and never less than before.
 *
 * Race: a pid may be used again between two looks. An open statm file stays with its process and then fails; where none
 * is kept, the start time in stat tells.
 */
#include "cgroup/watch_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroup/watch_descent.h"

#define INIT_PID   1
#define KEPT_MAX   16 /* descriptors of the caller's process that one run may take for this */
#define STATM_SIZE 160

int watch_tree_init(struct watch_tree *tree, int proc_fd, pid_t root, struct error *err)
{
	*tree = (struct watch_tree){.proc_fd = -1, .root = root};
	tree->buffer = malloc(WATCH_BUFFER_SIZE);
	if (tree->buffer == NULL)
		return error_no_memory(err);
	tree->proc_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->proc_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "watchdog", "cannot read the sandbox's proc");
	return 0;
}

static void forget_file(struct watch_tree *tree, struct watch_process *process)
{
	if (process->statm_fd >= 0)
		tree->n_kept--;
	cleanup_close_fd(&process->statm_fd);
}

void watch_tree_done(struct watch_tree *tree)
{
	for (size_t i = 0; i < tree->n; i++)
		forget_file(tree, &tree->processes[i]);
	free(tree->processes);
	free(tree->buffer);
	cleanup_close_fd(&tree->proc_fd);
	*tree = (struct watch_tree){.proc_fd = -1};
}

static int push_pid(pid_t **pids, size_t *n, size_t *allocated, pid_t pid)
{
	if (*n == *allocated) {
		size_t wanted = *allocated == 0 ? 64 : *allocated * 2;
		pid_t *grown = reallocarray(*pids, wanted, sizeof *grown);

		if (grown == NULL)
			return -1;
		*pids = grown;
		*allocated = wanted;
	}
	(*pids)[(*n)++] = pid;
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* The pids that are there, ascending, without the init. */
static int list_pids(struct watch_tree *tree, pid_t **pids, size_t *ret_n, struct error *err)
{
	size_t n = 0, allocated = 0;
	ssize_t size;

	if (lseek(tree->proc_fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, ERROR_IO, errno, "watchdog", "cannot read the sandbox's proc again");
	while ((size = getdents64(tree->proc_fd, tree->buffer, WATCH_BUFFER_SIZE)) > 0) {
		for (ssize_t at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(tree->buffer + at);
			pid_t pid = watch_process_parse_pid(entry->d_name);

			if (pid > INIT_PID && push_pid(pids, &n, &allocated, pid) < 0)
				return error_no_memory(err);
			at += entry->d_reclen;
		}
	}
	if (size < 0)
		return error_set_errno(err, ERROR_IO, errno, "watchdog", "cannot list the sandbox's processes");
	if (n > 0)
		qsort(*pids, n, sizeof **pids, compare_pids);
	*ret_n = n;
	return 0;
}

static void add_cpu(struct watch_cpu *sum, const struct watch_cpu *part)
{
	sum->user_ns += part->user_ns;
	sum->system_ns += part->system_ns;
}

static void bury(struct watch_tree *tree, struct watch_process *process)
{
	add_cpu(&tree->vanished, &process->own);
	forget_file(tree, process);
}

static struct watch_process fresh(pid_t pid)
{
	return (struct watch_process){.pid = pid, .statm_fd = -1, .tasks = 1, .state = '?'};
}

/* Carries what is known of each pid that is still there over to the new list. */
static int merge(struct watch_tree *tree, const pid_t *pids, size_t n, struct error *err)
{
	struct watch_process *list = calloc(n + 1, sizeof *list);
	size_t old = 0;

	if (list == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		while (old < tree->n && tree->processes[old].pid < pids[i])
			bury(tree, &tree->processes[old++]);
		list[i] = old < tree->n && tree->processes[old].pid == pids[i] ? tree->processes[old++] : fresh(pids[i]);
	}
	while (old < tree->n)
		bury(tree, &tree->processes[old++]);
	free(tree->processes);
	tree->processes = list;
	tree->n = n;
	return 0;
}

static ssize_t read_kept(struct watch_process *process, char *buf, size_t size)
{
	ssize_t n = process->statm_fd < 0 ? 0 : pread(process->statm_fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* Opens statm anew, and keeps it open where there is room; an empty text where the process has gone. */
static void read_anew(struct watch_tree *tree, struct watch_process *process, char *buf, size_t size)
{
	cleanup_close int fd = watch_process_open_file(tree->proc_fd, process->pid, "statm");
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	if (n > 0 && tree->n_kept < KEPT_MAX) {
		process->statm_fd = steal_fd(&fd);
		tree->n_kept++;
	}
}

static void read_stat(struct watch_tree *tree, struct watch_process *process)
{
	struct watch_process now = *process;
	char text[WATCH_STAT_SIZE];

	cleanup_close int fd = watch_process_open_file(
		tree->proc_fd, process->pid, "stat"); /* of all threads, whichever of them live */

	if (watch_process_read_text(fd, text, sizeof text) <= 0 || !watch_process_parse_stat(text, &now))
		return;
	if (process->stat_read && now.start_time != process->start_time)
		add_cpu(&tree->vanished, &process->own);
	now.stat_read = true;
	*process = now;
}

static void read_other_threads(struct watch_tree *tree, struct watch_process *process)
{
	process->thread = 0;
	read_stat(tree, process);
	if (process->tasks > 1)
		process->thread = watch_process_find_thread(tree->proc_fd, process);
}

static void read_statm(struct watch_tree *tree, struct watch_process *process)
{
	char text[STATM_SIZE];

	if (read_kept(process, text, sizeof text) <= 0) {
		if (process->statm_fd >= 0) { /* that process has gone; who has the pid now is another one */
			bury(tree, process);
			*process = fresh(process->pid);
		}
		read_anew(tree, process, text, sizeof text);
	}
	if (watch_process_parse_statm(text, process) && process->resident_bytes == 0)
		read_other_threads(tree, process);
	else
		process->thread = 0;
}

static bool has_pid(const pid_t *pids, size_t n, pid_t pid)
{
	return n > 0 && bsearch(&pid, pids, n, sizeof pid, compare_pids) != NULL;
}

static size_t drop_doubles(pid_t *pids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || pids[kept - 1] != pids[i])
			pids[kept++] = pids[i];
	}
	return kept;
}

/* Race: who loses its parent during a walk may be missed in it. Who was seen before and lives is a descendant still,
 * and its parent is one too. */
static bool was_missed(const struct watch_tree *tree, const pid_t *pids, size_t n, const struct watch_process *process)
{
	struct watch_process now = {0};

	if (has_pid(pids, n, process->pid) || !process->stat_read ||
		!watch_process_look(tree->proc_fd, process->pid, &now))
		return false;
	return now.start_time == process->start_time && (now.parent == tree->root || has_pid(pids, n, now.parent));
}

/* The descendants, ascending. */
static int list_descendants(struct watch_tree *tree, pid_t **pids, size_t *ret_n, struct error *err)
{
	struct watch_descent descent = {.proc_fd = tree->proc_fd, .root = tree->root};
	size_t n;

	if (watch_descent_list(&descent, err) < 0) {
		free(descent.pids);
		return -1;
	}
	*pids = descent.pids;
	n = descent.n;
	if (n > 0)
		qsort(*pids, n, sizeof **pids, compare_pids);
	n = drop_doubles(*pids, n);
	*ret_n = n;
	for (size_t i = 0; i < tree->n; i++) {
		if (was_missed(tree, *pids, n, &tree->processes[i]) &&
			push_pid(pids, ret_n, &descent.allocated, tree->processes[i].pid) < 0)
			return error_no_memory(err);
	}
	if (*ret_n > n)
		qsort(*pids, *ret_n, sizeof **pids, compare_pids);
	return 0;
}

/* Whose init has ended has no descendants any more by which they could be found: what was seen last stays known. */
static bool has_lost_root(const struct watch_tree *tree)
{
	struct watch_process init = {0};

	return tree->root != 0 &&
		(!watch_process_look(tree->proc_fd, tree->root, &init) || init.state == 'Z' || init.state == 'X');
}

static int list_processes(struct watch_tree *tree, pid_t **pids, size_t *ret_n, struct error *err)
{
	return tree->root == 0 ? list_pids(tree, pids, ret_n, err) : list_descendants(tree, pids, ret_n, err);
}

int watch_tree_list(struct watch_tree *tree, struct error *err)
{
	cleanup_free pid_t *pids = NULL;
	size_t n = 0;

	if (list_processes(tree, &pids, &n, err) < 0)
		return -1;
	if (!has_lost_root(tree) && merge(tree, pids, n, err) < 0)
		return -1;
	tree->tasks = 0;
	for (size_t i = 0; i < tree->n; i++) {
		read_statm(tree, &tree->processes[i]);
		tree->tasks += tree->processes[i].tasks;
	}
	return 0;
}

static uint64_t total(const struct watch_cpu *cpu)
{
	return cpu->user_ns + cpu->system_ns;
}

void watch_tree_read_stats(struct watch_tree *tree)
{
	struct watch_cpu waited = {0}, seen = tree->vanished;

	tree->init.pid = tree->root == 0 ? INIT_PID : tree->root;
	read_stat(tree, &tree->init);
	add_cpu(&waited, &tree->init.children);
	tree->tasks = 0;
	for (size_t i = 0; i < tree->n; i++) {
		struct watch_process *process = &tree->processes[i];

		read_stat(tree, process);
		add_cpu(&waited, &process->own);
		add_cpu(&waited, &process->children);
		add_cpu(&seen, &process->own);
		tree->tasks += process->tasks;
	}
	if (total(&waited) > total(&tree->cpu))
		tree->cpu = waited;
	if (total(&seen) > total(&tree->cpu))
		tree->cpu = seen;
}
