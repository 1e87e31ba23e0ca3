/*
 * Finding the base. A caller that was given a subtree of its own (a service manager's delegation) names it in
 * PINFOLD_CGROUP; everybody else gets groups below the cgroup they are in themselves, which is all that an ordinary
 * user may be able to write to.
 *
 * Threat: the environment is the caller's, but a pinfold started with more rights than the caller (setuid, file
 * capabilities) must not be led elsewhere by it: there it is not read. A path with a symlink or ".." in it is refused,
 * and so is everything that is not on a cgroup2 file system, by its magic number: a tmpfs in which somebody made files
 * of the right names would count as a limit that nobody enforces.
 */
#include "cgroup/group_base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "cgroup/location.h"
#include "cgroup/place.h"

#define VARIABLE       "PINFOLD_CGROUP"
#define PROC_TEXT_MAX  (16u << 20) /* a machine with tens of thousands of mounts */
#define CANDIDATES_MAX 64

enum error_code group_error_code(int sys_errno)
{
	switch (sys_errno) {
	case EACCES:
	case EPERM:
	case EROFS: return ERROR_PERMISSION_DENIED;
	case ENOENT:
	case ENOTDIR:
	case ELOOP: return ERROR_NOT_FOUND;
	case EAGAIN:
	case ENOSPC:
	case EMFILE:
	case ENFILE: return ERROR_LIMIT;
	default: return ERROR_IO;
	}
}

int group_base_open(const char *path, struct error *err)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int fd = -1;
	struct statfs fs;
	char shown[256];

	str_printable(path, shown, sizeof shown);
	if (*path != '/')
		return error_set(err, ERROR_NOT_FOUND, "open cgroup", "%s is not an absolute path", shown);
	if (root < 0)
		return error_set_errno(err, group_error_code(errno), errno, "open", "cannot open /");
	fd = beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return error_set_errno(
			err, group_error_code(errno), errno, "open cgroup", "cannot open the cgroup %s", shown);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return error_set(
			err, ERROR_UNSUPPORTED, "open cgroup", "%s is not in a cgroup version 2 file system", shown);
	return steal_fd(&fd);
}

static int copy_path(const char *from, char *ret_path, size_t size, struct error *err)
{
	if (strlen(from) >= size)
		return error_set(err, ERROR_LIMIT, "find cgroup", "the path of the cgroup is too long");
	memcpy(ret_path, from, strlen(from) + 1);
	return 0;
}

static int check_named(const char *path, char *ret_path, size_t size, struct error *err)
{
	cleanup_close int fd = group_base_open(path, err);

	if (fd < 0)
		return error_prefix(err, VARIABLE);
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		return error_set_errno(err, group_error_code(errno), errno, "access cgroup",
			VARIABLE ": the cgroup cannot be written to");
	return copy_path(path, ret_path, size, err);
}

/* 1: there is no such file, as on a kernel without cgroups or in a bare chroot. */
static int read_proc(const char *path, struct buf *buf, struct error *err)
{
	struct error mine = {0};

	if (fd_read_file(AT_FDCWD, path, PROC_TEXT_MAX, buf, &mine) == 0)
		return 0;
	if (mine.code == ERROR_NOT_FOUND)
		return 1;
	if (err != NULL)
		*err = mine;
	return -1;
}

int group_base_own(char *ret_path, size_t size, struct error *err)
{
	cleanup_buf struct buf cgroup = {0};
	cleanup_buf struct buf mountinfo = {0};
	char path[PATH_MAX];
	int missing = read_proc("/proc/self/cgroup", &cgroup, err);

	if (missing == 0)
		missing = read_proc("/proc/self/mountinfo", &mountinfo, err);
	if (missing != 0)
		return missing < 0 ? -1 : copy_path("", ret_path, size, err);
	for (size_t n = 0; n < CANDIDATES_MAX; n++) {
		cleanup_close int fd = -1;

		if (!location_candidate(buf_str(&cgroup), buf_str(&mountinfo), n, path, sizeof path))
			break;
		/* A mount may be hidden below another one: then what is found there is something else. */
		fd = group_base_open(path, NULL);
		if (fd >= 0)
			return copy_path(path, ret_path, size, err);
	}
	return copy_path("", ret_path, size, err);
}

int group_base_named(char *ret_path, size_t size, struct error *err)
{
	const char *named = secure_getenv(VARIABLE);

	if (named == NULL || *named == '\0')
		return 0;
	return check_named(named, ret_path, size, err) < 0 ? -1 : 1;
}

int group_base_find(char *ret_path, size_t size, struct error *err)
{
	static const char leaf[] = "/" PLACE_SUPERVISOR;
	int named = group_base_named(ret_path, size, err);
	size_t n;

	if (named != 0)
		return named < 0 ? -1 : 0;
	if (group_base_own(ret_path, size, err) < 0)
		return -1;
	n = strlen(ret_path);
	if (n > strlen(leaf) && strcmp(ret_path + n - strlen(leaf), leaf) == 0)
		ret_path[n - strlen(leaf)] = '\0';
	return 0;
}

/* A umask that takes the owner's own rights would leave a group that an ordinary user can neither enter nor remove. */
int group_base_mkdir(int fd, const char *name)
{
	if (mkdirat(fd, name, 0755) < 0)
		return -1;
	return fchmodat(fd, name, 0755, 0);
}

/* Threat: the owner of a cgroup above may move whatever is below it somewhere else below it, out of every limit,
 * whoever runs it: root in a cgroup that was delegated to a user, as by sudo in one. */
int group_base_trust(const char *path, struct error *err)
{
	char at[PATH_MAX];
	struct statfs fs;
	struct stat st;
	char *slash;

	if (geteuid() != 0)
		return 0;
	if (copy_path(path, at, sizeof at, err) < 0)
		return -1;
	while (stat(at, &st) == 0 && statfs(at, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) {
		if (st.st_uid != 0)
			return error_set(err, ERROR_UNENFORCEABLE, "cgroup owner",
				"the cgroup is in one of the user %u, who could take processes out of it",
				(unsigned)st.st_uid);
		slash = strrchr(at, '/');
		if (slash == NULL || slash == at)
			break;
		*slash = '\0';
	}
	return 0;
}
