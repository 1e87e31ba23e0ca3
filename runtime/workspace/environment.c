/*
 * Secrets by reference. A manifest says only where a value is; it is read here, at the last moment, and goes nowhere
 * but into the list for the one command.
 *
 * Threat: whoever wrote the manifest could name any variable, descriptor or file of the caller's and have a command
 * that he wrote too find it. So a reference is taken only where the caller allows that very one, or, of a file, where
 * the manifest could have copied it anyway.
 *
 * No message has a value in it. Copies that were made on the way are wiped.
 */
#include "runtime/workspace/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

static void wipe(struct buf *buf)
{
	if (buf->data != NULL)
		explicit_bzero(buf->data, buf->allocated);
	buf_done(buf);
}
#define cleanup_secret __attribute__((cleanup(wipe)))

void environment_free(char **environment)
{
	for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
		explicit_bzero(environment[i], strlen(environment[i]));
		free(environment[i]);
	}
	free(environment);
}

static bool is_allowed(const char *reference, const char *const *allowed)
{
	for (; allowed != NULL && *allowed != NULL; allowed++)
		if (str_match(*allowed, reference))
			return true;
	return false;
}

static int refuse(enum error_code code, const struct manifest_variable *variable, const char *says, struct error *err)
{
	return error_set(err, code, "environment", "%s: %s", variable->place, says);
}

/* Room is made at once: a buffer that grows would leave pieces behind. */
static int read_fd(int fd, const struct manifest_variable *variable, struct buf *value, struct error *err)
{
	static const char zeros[MANIFEST_VARIABLE_BYTES_MAX];
	struct error failed;

	buf_append(value, zeros, sizeof zeros);
	if (buf_check(value, err) < 0)
		return -1;
	buf_reset(value);
	if (fd_read_all(fd, MANIFEST_VARIABLE_BYTES_MAX, value, &failed) < 0)
		return refuse(failed.code == ERROR_LIMIT ? ERROR_LIMIT : ERROR_IO, variable,
			failed.code == ERROR_LIMIT ? "the value is longer than the kernel takes (128 KiB)"
						   : "the value cannot be read",
			err);
	/* Files of secrets end with a newline that nobody means. */
	if (value->size > 0 && value->data[value->size - 1] == '\n')
		value->data[--value->size] = '\0';
	return 0;
}

static int take_fd(const struct manifest_variable *variable, struct buf *value, struct error *err)
{
	uint64_t fd;

	if (str_parse_u64(variable->text + strlen("fd:"), 0, INT_MAX, &fd, err) < 0)
		return -1;
	return read_fd((int)fd, variable, value, err);
}

/* The caller has named this very file, wherever it is: links in that are his own. */
static int open_named(const struct manifest_variable *variable, struct error *err)
{
	cleanup_close int fd = open(variable->text + strlen("file:"), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return error_set_errno(err, ERROR_LOCAL_FILE_READ, errno, "environment",
			"%s: the file cannot be opened", variable->place);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(ERROR_LOCAL_FILE_READ, variable, "not a regular file", err);
	return steal_fd(&fd);
}

static int take_file(const struct manifest_variable *variable, const struct sources *sources, bool named,
	struct buf *value, struct error *err)
{
	const char *path = variable->text + strlen("file:");
	cleanup_close int fd = -1;

	if (named && path[0] == '/') {
		fd = open_named(variable, err);
		return fd < 0 ? -1 : read_fd(fd, variable, value, err);
	}
	fd = sources_open_file(sources, path, ERROR_LOCAL_FILE_READ, err);
	return fd < 0 ? error_prefix(err, "%s", variable->place) : read_fd(fd, variable, value, err);
}

static int take_env(const struct manifest_variable *variable, struct buf *value, struct error *err)
{
	const char *found = getenv(variable->text + strlen("env:"));

	if (found == NULL)
		return refuse(ERROR_NOT_FOUND, variable, "there is no such variable", err);
	buf_append_str(value, found);
	return buf_check(value, err);
}

static int take(const struct manifest_variable *variable, const struct sources *sources, const char *const *allowed,
	struct buf *value, struct error *err)
{
	bool granted = variable->from != REFERENCE_NONE && is_allowed(variable->text, allowed);

	if (!granted && (variable->from == REFERENCE_FD || variable->from == REFERENCE_ENV)) {
		(void)refuse(ERROR_PERMISSION_DENIED, variable, "the caller does not let the manifest take this", err);
		error_set_fix(err, "who runs the command allows references by name");
		return -1;
	}
	switch (variable->from) {
	case REFERENCE_FD: return take_fd(variable, value, err);
	case REFERENCE_FILE: return take_file(variable, sources, granted, value, err);
	case REFERENCE_ENV: return take_env(variable, value, err);
	case REFERENCE_NONE:
	case _REFERENCE_COUNT: break;
	}
	buf_append_str(value, variable->text);
	return buf_check(value, err);
}

static int resolve(const struct manifest_variable *variable, const struct sources *sources, const char *const *allowed,
	char **ret_entry, struct error *err)
{
	cleanup_secret struct buf value = {};
	size_t name_size = strlen(variable->name);
	char *entry;

	if (take(variable, sources, allowed, &value, err) < 0)
		return -1;
	if (value.size > 0 && memchr(value.data, '\0', value.size) != NULL)
		return refuse(ERROR_IO, variable, "the value has a NUL in it", err);
	if (name_size + value.size + 2 > MANIFEST_VARIABLE_BYTES_MAX)
		return refuse(ERROR_LIMIT, variable,
			"name and value together are longer than the kernel takes (128 KiB)", err);
	entry = malloc(name_size + value.size + 2);
	if (entry == NULL)
		return error_no_memory(err);
	memcpy(entry, variable->name, name_size);
	entry[name_size] = '=';
	memcpy(entry + name_size + 1, buf_str(&value), value.size + 1);
	*ret_entry = entry;
	return 0;
}

int environment_resolve(const struct manifest *manifest, const struct sources *sources, const char *const *allowed,
	char ***ret_environment, struct error *err)
{
	char **environment = calloc(manifest->n_variables + 1, sizeof *environment);

	if (environment == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < manifest->n_variables; i++) {
		if (resolve(&manifest->variables[i], sources, allowed, &environment[i], err) < 0) {
			environment_free(environment);
			return -1;
		}
	}
	*ret_environment = environment;
	return 0;
}
