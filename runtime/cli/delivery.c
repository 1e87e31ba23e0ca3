/*
 * The result file is written beside its place under a random name and renamed there when it is complete: a reader sees
 * the old one or the whole new one.
 *
 * Threat: the file's directory may be writable to the command. The directory is opened before the launch and used by
 * descriptor, the new file is made with O_EXCL, and the rename replaces whatever stands there without following it.
 * Replacing is right for a file only: a device, a FIFO or a symlink in that place (/dev/stdout) is refused beforehand.
 */
#include "runtime/cli/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/cli/console.h"

#define NAME_SIZE 64

static int open_directory(struct settings const *settings, struct delivery *delivery, struct error *err)
{
	const char *path = settings->result_file;
	const char *slash = strrchr(path, '/');
	const char *directory = ".";

	if (slash != NULL) {
		directory = slash == path ? "/" : arena_strndup(settings->arena, path, (size_t)(slash - path));
		if (directory == NULL)
			return error_no_memory(err);
	}
	delivery->name = slash != NULL ? slash + 1 : path;
	delivery->directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (delivery->directory_fd < 0)
		return cli_open_error(err, errno, "--result-file", "open the directory", directory);
	return 0;
}

static int check_place(const struct delivery *delivery, const char *path, struct error *err)
{
	struct stat status;

	if (delivery->name[0] == '\0' || str_equal(delivery->name, ".") || str_equal(delivery->name, ".."))
		return error_set(err, ERROR_USAGE, "--result-file", "--result-file: %s names no file", path);
	if (fstatat(delivery->directory_fd, delivery->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISREG(status.st_mode)) {
		error_set(err, ERROR_USAGE, "--result-file", "--result-file: %s is there and is no file", path);
		error_set_fix(err, "use --result-fd for a stream");
		return -1;
	}
	if (faccessat(delivery->directory_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return cli_open_error(err, errno, "--result-file", "write beside", path);
	return 0;
}

int cli_delivery_open(struct delivery *delivery, const struct settings *settings, struct error *err)
{
	delivery->fd = settings->result_fd;
	if (settings->result_file == NULL)
		return 0;
	if (open_directory(settings, delivery, err) < 0)
		return -1;
	return check_place(delivery, settings->result_file, err);
}

static int random_name(char name[NAME_SIZE], struct error *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return error_set_errno(err, ERROR_IO, errno, "getrandom", "no random bytes");
	(void)snprintf(name, NAME_SIZE, ".pinfold-result-%016llx", (unsigned long long)number);
	return 0;
}

static int write_beside(const struct delivery *delivery, const char *name, const char *json, struct error *err)
{
	cleanup_close int fd =
		openat(delivery->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "--result-file", "--result-file: cannot make a file");
	if (fd_write_all(fd, json, strlen(json)) < 0)
		return error_set_errno(err, ERROR_IO, errno, "--result-file", "--result-file: cannot write");
	return 0;
}

static int deliver_file(const struct delivery *delivery, const char *json, struct error *err)
{
	char name[NAME_SIZE];
	int rc;

	if (random_name(name, err) < 0)
		return -1;
	rc = write_beside(delivery, name, json, err);
	if (rc == 0 && renameat(delivery->directory_fd, name, delivery->directory_fd, delivery->name) < 0)
		rc = cli_open_error(err, errno, "--result-file", "replace", delivery->name);
	if (rc < 0)
		(void)unlinkat(delivery->directory_fd, name, 0);
	return rc;
}

bool cli_delivery_is_wished(const struct delivery *delivery)
{
	return delivery->directory_fd >= 0 || delivery->fd >= 0;
}

int cli_deliver(const struct delivery *delivery, const char *json, struct error *err)
{
	if (delivery->fd >= 0 && cli_write(delivery->fd, json, strlen(json)) < 0 && errno != EPIPE)
		return error_set_errno(err, ERROR_IO, errno, "--result-fd", "--result-fd: cannot write");
	return delivery->directory_fd >= 0 ? deliver_file(delivery, json, err) : 0;
}

void cli_delivery_done(struct delivery *delivery)
{
	cleanup_close_fd(&delivery->directory_fd);
	delivery->directory_fd = -1;
}
