/*
 * A destination as people write it. Its directories are the caller's word and are followed as any path is; its last
 * part is not, where it is a link: it may lie in a workspace that somebody else writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runtime/workspace/extract.h"

static int cannot(struct error *err, const char *path, const char *what)
{
	char shown[200];
	enum error_code code = errno == ENOENT || errno == ENOTDIR ? ERROR_NOT_FOUND
		: errno == EACCES || errno == EPERM                ? ERROR_PERMISSION_DENIED
								   : ERROR_IO;

	return error_set_errno(err, code, errno, "destination", "%s %s", what, str_printable(path, shown, sizeof shown));
}

static int refuse(struct error *err, const char *path, const char *what)
{
	char shown[200];

	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "destination", "the destination %s is %s",
		str_printable(path, shown, sizeof shown), what);
}

/* "/a/b//" is "b" in "/a"; "b" is in "."; "/", "." and ".." are themselves. The name in `directory`; NULL: no name. */
static const char *split(const char *destination, char directory[PATH_MAX], struct error *err)
{
	size_t size = strlen(destination);
	char *slash;

	while (size > 1 && destination[size - 1] == '/')
		size--;
	if (size == 0 || size >= PATH_MAX) {
		(void)error_set(err, ERROR_USAGE, "destination", "a destination needs a name, and not too long a one");
		return NULL;
	}
	memcpy(directory, destination, size);
	directory[size] = '\0';
	slash = strrchr(directory, '/');
	return slash != NULL ? slash + 1 : directory;
}

static bool is_itself(const char *name)
{
	return name[0] == '\0' || str_equal(name, ".") || str_equal(name, "..");
}

static int open_parent(const char *path, const char *name, struct error *err)
{
	char parent[PATH_MAX];
	size_t size = (size_t)(name - path);
	int fd;

	memcpy(parent, path, size);
	parent[size] = '\0';
	fd = open(size > 0 ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? cannot(err, size > 0 ? parent : ".", "cannot open the directory") : fd;
}

static int extract_over_path(const struct runner *runner, int archive_fd, int dirfd, const char *name, const char *path,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err)
{
	cleanup_close int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return refuse(err, path, "a symbolic link, or no directory");
	if (fd < 0)
		return cannot(err, path, "cannot open the destination");
	return extract_over(runner, archive_fd, fd, options, ret_totals, err);
}

int extract_to_path(const struct runner *runner, int archive_fd, const char *destination,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err)
{
	char path[PATH_MAX];
	const char *name = split(destination, path, err);
	cleanup_close int parent_fd = -1;
	struct stat st;

	if (name == NULL)
		return -1;
	if (is_itself(name))
		return extract_over_path(runner, archive_fd, AT_FDCWD, path, path, options, ret_totals, err);
	parent_fd = open_parent(path, name, err);
	if (parent_fd < 0)
		return -1;
	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return extract_over_path(runner, archive_fd, parent_fd, name, path, options, ret_totals, err);
	if (errno != ENOENT)
		return cannot(err, path, "cannot look at the destination");
	return extract_into(runner, archive_fd, parent_fd, name, options, ret_totals, err);
}
