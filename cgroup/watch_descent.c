/*
 * Descendants: a list that grows behind the place at which it is read. The children of each process are those of all
 * its threads.
 *
 * Fallback: /proc/PID/task/TID/children needs CONFIG_PROC_CHILDREN. Without it the parents of all processes of the
 * machine are read, some microseconds each, and those are kept whose line leads to the root.
 */
#include "cgroup/watch_descent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroup/watch_tree.h"

#define TEXT_SIZE 1024

struct relation {
	pid_t pid, parent;
	bool below;
};

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static DIR *open_dir(int proc_fd, const char *path)
{
	cleanup_close int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir != NULL)
		(void)steal_fd(&fd);
	return dir;
}

static int push(struct watch_descent *descent, pid_t pid, struct error *err)
{
	if (descent->n == descent->allocated) {
		size_t wanted = descent->allocated == 0 ? 64 : descent->allocated * 2;
		pid_t *grown = reallocarray(descent->pids, wanted, sizeof *grown);

		if (grown == NULL)
			return error_no_memory(err);
		descent->pids = grown;
		descent->allocated = wanted;
	}
	descent->pids[descent->n++] = pid;
	return 0;
}

/* "PID PID ", of which a read may end within a number. */
static int push_list(struct watch_descent *descent, int fd, struct error *err)
{
	char text[TEXT_SIZE];
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid > 0) {
				if (push(descent, pid, err) < 0)
					return -1;
				pid = 0;
			}
		}
	}
	return 0;
}

static int push_children(struct watch_descent *descent, pid_t pid, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *tasks = NULL;
	struct dirent *entry;
	char path[64];

	(void)snprintf(path, sizeof path, "%d/task", (int)pid);
	tasks = open_dir(descent->proc_fd, path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
		cleanup_close int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%.20s/children", entry->d_name);
		fd = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && push_list(descent, fd, err) < 0)
			return -1;
	}
	return 0;
}

static int list_by_children(struct watch_descent *descent, struct error *err)
{
	if (push_children(descent, descent->root, err) < 0)
		return -1;
	for (size_t i = 0; i < descent->n; i++) {
		if (push_children(descent, descent->pids[i], err) < 0)
			return -1;
	}
	return 0;
}

static pid_t read_parent(int proc_fd, const char *name)
{
	struct watch_process process = {0};
	char path[64], text[TEXT_SIZE];
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%.20s/stat", name);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n < 0 ? 0 : n] = '\0';
	return watch_process_parse_stat(text, &process) ? process.parent : 0;
}

static int read_relations(int proc_fd, struct relation **relations, size_t *ret_n, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *all = open_dir(proc_fd, ".");
	size_t n = 0, allocated = 0;
	struct dirent *entry;

	if (all == NULL)
		return error_set_errno(err, ERROR_IO, errno, "watchdog", "cannot list the machine's processes");
	while ((entry = readdir(all)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (n == allocated) {
			struct relation *grown = reallocarray(*relations, (allocated + 64) * 2, sizeof *grown);

			if (grown == NULL)
				return error_no_memory(err);
			*relations = grown;
			allocated = (allocated + 64) * 2;
		}
		(*relations)[n++] = (struct relation){
			(pid_t)strtol(entry->d_name, NULL, 10), read_parent(proc_fd, entry->d_name), false};
	}
	*ret_n = n;
	return 0;
}

static bool is_below(const struct relation *relations, size_t n, pid_t root, pid_t parent)
{
	for (size_t i = 0; i < n && parent != root; i++) {
		if (relations[i].pid == parent)
			return relations[i].below;
	}
	return parent == root;
}

static int list_by_scan(struct watch_descent *descent, struct error *err)
{
	cleanup_free struct relation *relations = NULL;
	bool found = true;
	size_t n = 0;

	if (read_relations(descent->proc_fd, &relations, &n, err) < 0)
		return -1;
	while (found) {
		found = false;
		for (size_t i = 0; i < n; i++) {
			struct relation *one = &relations[i];

			if (one->below || one->parent == 0 || !is_below(relations, n, descent->root, one->parent))
				continue;
			one->below = found = true;
			if (push(descent, one->pid, err) < 0)
				return -1;
		}
	}
	return 0;
}

static bool lists_children(const struct watch_descent *descent)
{
	char path[64];

	(void)snprintf(path, sizeof path, "%d/task/%d/children", (int)descent->root, (int)descent->root);
	return faccessat(descent->proc_fd, path, R_OK, 0) == 0;
}

int watch_descent_list(struct watch_descent *descent, struct error *err)
{
	return !descent->scan && lists_children(descent) ? list_by_children(descent, err) : list_by_scan(descent, err);
}
