/* The public command: everything is copied, but for descriptors. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/api/objects.h"

#define SIZELESS_BYTES_MAX (64u << 20)

static int copy_strings(struct arena *arena, const char *const *strings, char ***ret_copy, struct error *err)
{
	char **copy = NULL;
	size_t n = 0;

	for (size_t i = 0;; i++) {
		char **slot = arena_push(arena, &copy, &n);

		if (slot == NULL)
			return error_no_memory(err);
		if (strings == NULL || strings[i] == NULL)
			break;
		*slot = arena_strdup(arena, strings[i]);
	}
	*ret_copy = copy;
	return arena_check(arena, err);
}

static const char *find_variable(char *const *environment, const char *name)
{
	size_t size = strlen(name);
	const char *value = NULL;

	for (; *environment != NULL; environment++) {
		if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
			value = *environment + size + 1;
	}
	return value;
}

/* HOME, or the entry in /etc/passwd, read without the name service. */
static const char *find_home(struct arena *arena, char *const *environment)
{
	const char *home = find_variable(environment, "HOME");
	const struct passwd *entry;
	FILE *file;

	if (home != NULL && home[0] == '/')
		return home;
	home = NULL;
	file = fopen("/etc/passwd", "re");
	while (file != NULL && home == NULL && (entry = fgetpwent(file)) != NULL) {
		if (entry->pw_uid == geteuid() && entry->pw_dir[0] == '/')
			home = arena_strdup(arena, entry->pw_dir);
	}
	if (file != NULL)
		(void)fclose(file);
	return home;
}

static int set_environment(pinfold_command *command, const char *const *environment, struct error *err)
{
	if (copy_strings(command->arena, environment, &command->command.environment, err) < 0)
		return -1;
	command->command.home = find_home(command->arena, command->command.environment);
	return 0;
}

int pinfold_command_new(const char *const *argv, pinfold_command **ret_command, pinfold_error **err)
{
	struct error error = {0};
	pinfold_command *command = calloc(1, sizeof *command);

	if (command == NULL || arena_new(&command->arena, &error) < 0) {
		free(command);
		(void)error_no_memory(&error);
		return api_fail(err, "command", &error, NULL);
	}
	atomic_init(&command->references, 1);
	command->command.out_fd = -1;
	command->command.err_fd = -1;
	command->command.stdin_fd = -1;
	if (argv == NULL || argv[0] == NULL || argv[0][0] == '\0')
		(void)error_set(&error, ERROR_USAGE, "command", "the command is empty");
	else if (copy_strings(command->arena, argv, &command->command.argv, &error) == 0 &&
		set_environment(command, (const char *const *)environ, &error) == 0) {
		*ret_command = command;
		return 0;
	}
	(void)pinfold_command_free(command);
	return api_fail(err, "command", &error, NULL);
}

static int copy_path(pinfold_command *command, const char *path, const char **ret_copy, pinfold_error **err)
{
	struct error error = {0};
	const char *copy;

	if (path == NULL || path[0] == '\0') {
		(void)error_set(&error, ERROR_USAGE, "command", "an empty path");
		return api_fail(err, "command", &error, NULL);
	}
	copy = arena_strdup(command->arena, path);
	if (copy == NULL) {
		(void)error_no_memory(&error);
		return api_fail(err, "command", &error, NULL);
	}
	*ret_copy = copy;
	return 0;
}

int pinfold_command_set_workspace(pinfold_command *command, const char *path, pinfold_error **err)
{
	return copy_path(command, path, &command->command.workspace, err);
}

int pinfold_command_set_directory(pinfold_command *command, const char *path, pinfold_error **err)
{
	return copy_path(command, path, &command->command.directory, err);
}

static void set_data(pinfold_command *command, const void *data, size_t size)
{
	command->command.stdin_mode = PLAN_STDIN_DATA;
	command->command.stdin_fd = -1;
	command->command.stdin_data = data;
	command->command.stdin_size = size;
}

static int copy_data(pinfold_command *command, const void *data, size_t size, struct error *err)
{
	void *copy = arena_alloc(command->arena, size);

	if (copy == NULL)
		return error_no_memory(err);
	if (size > 0)
		memcpy(copy, data, size);
	set_data(command, copy, size);
	return 0;
}

/* Files of proc and sys say that they are empty. */
static int read_sizeless(pinfold_command *command, int fd, struct error *err)
{
	cleanup_buf struct buf buf = {0};

	if (fd_read_all(fd, SIZELESS_BYTES_MAX, &buf, err) < 0)
		return error_prefix(err, "standard input");
	return copy_data(command, buf_str(&buf), buf.size, err);
}

/*
 * Threat: a file given for reading could be opened anew for writing through /proc/self/fd/0, on the caller's writable mount.
 * Its bytes are fed instead, from where the caller stands in it. A file that shrinks meanwhile makes a write fail, no more.
 */
static int feed_file(pinfold_command *command, int fd, off_t size, struct error *err)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	void *mapped;

	if (size == 0)
		return read_sizeless(command, fd, err);
	if (at < 0 || at >= size)
		return copy_data(command, "", 0, err);
	mapped = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return error_set_errno(err, ERROR_IO, errno, "mmap", "standard input");
	if (command->mapped != NULL)
		(void)munmap(command->mapped, command->mapped_size);
	command->mapped = mapped;
	command->mapped_size = (size_t)size;
	set_data(command, (const char *)mapped + at, (size_t)(size - at));
	return 0;
}

static int give_fd(pinfold_command *command, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, ERROR_USAGE, errno, "command", "standard input: descriptor %d", fd);
	if (S_ISREG(st.st_mode))
		return feed_file(command, fd, st.st_size, err);
	command->command.stdin_mode = PLAN_STDIN_FD;
	command->command.stdin_fd = fd;
	return 0;
}

static int refuse(pinfold_error **err, const char *what)
{
	struct error error = {0};

	(void)error_set(&error, ERROR_USAGE, "command", "%s", what);
	return api_fail(err, "command", &error, NULL);
}

int pinfold_command_set_stdin(
	pinfold_command *command, enum pinfold_stdin mode, int fd, const void *data, size_t size, pinfold_error **err)
{
	struct error error = {0};
	int r = 0;

	if ((unsigned)mode > PINFOLD_STDIN_DATA)
		return refuse(err, "stdin: unknown mode");
	if (mode == PINFOLD_STDIN_FD && fd < 0)
		return refuse(err, "stdin: no descriptor");
	if (mode == PINFOLD_STDIN_DATA && data == NULL && size > 0)
		return refuse(err, "stdin: no data");
	switch (mode) {
	case PINFOLD_STDIN_NONE: command->command.stdin_mode = PLAN_STDIN_NONE; break;
	case PINFOLD_STDIN_FD: r = give_fd(command, fd, &error); break;
	case PINFOLD_STDIN_DATA: r = copy_data(command, data, size, &error); break;
	}
	return r < 0 ? api_fail(err, "command", &error, NULL) : 0;
}

int pinfold_command_set_output(
	pinfold_command *command, enum pinfold_output mode, int fd_out, int fd_err, pinfold_error **err)
{
	static const enum plan_output modes[] = {
		[PINFOLD_OUTPUT_CAPTURE] = PLAN_OUTPUT_CAPTURE,
		[PINFOLD_OUTPUT_FD] = PLAN_OUTPUT_FD,
		[PINFOLD_OUTPUT_RELAY] = PLAN_OUTPUT_RELAY,
		[PINFOLD_OUTPUT_TTY] = PLAN_OUTPUT_TTY,
	};

	if ((unsigned)mode >= sizeof modes / sizeof modes[0])
		return refuse(err, "output: unknown mode");
	if (mode == PINFOLD_OUTPUT_FD && (fd_out < 0 || fd_err < 0))
		return refuse(err, "output: no descriptors");
	command->command.output = modes[mode];
	command->command.out_fd = mode == PINFOLD_OUTPUT_CAPTURE ? -1 : fd_out;
	command->command.err_fd = mode == PINFOLD_OUTPUT_CAPTURE ? -1 : fd_err;
	return 0;
}

int pinfold_command_set_environment(pinfold_command *command, const char *const *environment, pinfold_error **err)
{
	struct error error = {0};

	for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
		char shown[64];

		if (strchr(environment[i], '=') != NULL && environment[i][0] != '=')
			continue;
		(void)error_set(&error, ERROR_USAGE, "command", "environment entry %zu is not NAME=VALUE: \"%s\"", i,
			str_printable(environment[i], shown, sizeof shown));
		return api_fail(err, "command", &error, NULL);
	}
	if (set_environment(command, environment, &error) < 0)
		return api_fail(err, "command", &error, NULL);
	return 0;
}

int pinfold_command_set_kill_after(pinfold_command *command, uint64_t milliseconds, pinfold_error **err)
{
	struct error error = {0};

	if (milliseconds > UINT64_MAX / 4 / 1000000) {
		(void)error_set(&error, ERROR_USAGE, "command", "kill-after: too long");
		return api_fail(err, "command", &error, NULL);
	}
	command->command.kill_after_ns = milliseconds * 1000000;
	return 0;
}

void pinfold_command_trace_setup(pinfold_command *command)
{
	command->traced = true;
}

pinfold_command *api_command_hold(const pinfold_command *command)
{
	pinfold_command *held = (pinfold_command *)(uintptr_t)command;

	(void)atomic_fetch_add(&held->references, 1);
	return held;
}

pinfold_command *pinfold_command_free(pinfold_command *command)
{
	if (command == NULL || atomic_fetch_sub(&command->references, 1) > 1)
		return NULL;
	if (command->mapped != NULL)
		(void)munmap(command->mapped, command->mapped_size);
	(void)arena_free(command->arena);
	free(command);
	return NULL;
}
