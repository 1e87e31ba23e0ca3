/*
 * Who does not die. Used only after SIGKILL had no effect for ten seconds, which is a process in uninterruptible sleep;
 * its name is chosen by the command and therefore escaped.
 */
#include "runtime/supervise/process_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define NAMES_MAX 32
#define COMM_SIZE 64

static void close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static DIR *open_dir(int proc_fd)
{
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir == NULL && fd >= 0)
		(void)close(fd);
	return dir;
}

static void read_comm(int proc_fd, const char *pid, char comm[COMM_SIZE])
{
	char path[32], raw[COMM_SIZE] = "?";
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%.20s/comm", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, raw, sizeof raw - 1);
	if (n > 0)
		raw[n] = '\0';
	raw[strcspn(raw, "\n")] = '\0';
	(void)str_printable(raw, comm, COMM_SIZE);
}

int process_names(int proc_fd, struct arena *arena, const char ***ret_names, size_t *ret_n, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *dir = proc_fd < 0 ? NULL : open_dir(proc_fd);
	const char **names = NULL;
	struct dirent *entry;
	size_t n = 0;

	while (dir != NULL && n < NAMES_MAX && (entry = readdir(dir)) != NULL) {
		char comm[COMM_SIZE];
		const char **slot;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || strcmp(entry->d_name, "1") == 0)
			continue;
		read_comm(proc_fd, entry->d_name, comm);
		slot = arena_push(arena, &names, &n);
		if (slot == NULL)
			return error_no_memory(err);
		*slot = arena_printf(arena, "%s (%s)", comm, entry->d_name);
		if (*slot == NULL)
			return error_no_memory(err);
	}
	*ret_names = names;
	*ret_n = n;
	return 0;
}
