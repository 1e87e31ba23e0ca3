/*
 * Opening a path below a directory descriptor without following any symlink.
 *
 * Workspaces and extracted trees belong to the confined program: it may put a symlink at any place of any path that we
 * are about to open, and swap it in while we look. So no path is ever resolved by name in such a tree except here, in
 * one of two ways that must agree, down to the errno:
 *
 *   - openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS: one call, decided by the kernel;
 *   - the walk: one openat with O_NOFOLLOW for each component, from the descriptor of the one before.
 *
 * Race: neither looks first and opens afterwards. Each component is opened in the act of being checked, from a
 * descriptor that no rename can redirect. A directory moved away meanwhile is still the directory that was found; since
 * ".." is refused before anything is opened, no such move can lead upwards and out.
 *
 * Fallback: openat2 is missing before Linux 5.6 (ENOSYS), and an outer filter, a container's or our own, refuses it
 * with ENOSYS or EPERM, because filters cannot look into its argument. Nothing is lost by the walk but speed. A genuine
 * EPERM is found again by it.
 */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"

#define MAKES_FILE(flags) (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE)

static int fail(int sys_errno)
{
	errno = sys_errno;
	return -1;
}

static const char *skip_slashes(const char *s)
{
	return s + strspn(s, "/");
}

static size_t component_length(const char *s)
{
	return (size_t)(strchrnul(s, '/') - s);
}

static bool is_dots(const char *component, size_t length, size_t dots)
{
	return length == dots && strncmp(component, "..", dots) == 0;
}

/* Refuses what both ways refuse; returns the path relative to dirfd, "." for dirfd itself, or NULL with errno. */
static const char *check_path(const char *path)
{
	const char *at;

	path = skip_slashes(path);
	if (strlen(path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	for (at = path; *at != '\0'; at = skip_slashes(at + component_length(at))) {
		if (is_dots(at, component_length(at), 2)) {
			errno = EXDEV; /* the word of RESOLVE_BENEATH for a path that leaves the tree */
			return NULL;
		}
	}
	return *path != '\0' ? path : ".";
}

/* openat2 refuses flags and modes that openat ignores: what means nothing is taken out for both. */
static int check_flags(int flags)
{
	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
	return flags | O_CLOEXEC;
}

static int open_at(int dirfd, const char *name, int flags, mode_t mode)
{
	int fd;

	do {
		fd = openat(dirfd, name, flags, mode);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

/* ENOTDIR hides that the thing was a symlink. Asking again decides only which word is reported. */
static int fail_not_directory(int dirfd, const char *name)
{
	struct stat status;
	bool symlink = fstatat(dirfd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);

	return fail(symlink ? ELOOP : ENOTDIR);
}

static int open_directory(int dirfd, const char *name, int flags, mode_t mode)
{
	int fd = open_at(dirfd, name, flags | O_DIRECTORY | O_NOFOLLOW, mode);

	return fd < 0 && errno == ENOTDIR ? fail_not_directory(dirfd, name) : fd;
}

/* O_PATH with O_NOFOLLOW gives the symlink itself, which is right only for who asked for that. */
static int open_last(int dirfd, const char *name, int flags, mode_t mode)
{
	cleanup_close int fd = -1;
	struct stat status;

	if (flags & O_DIRECTORY && !(flags & O_NOFOLLOW))
		return open_directory(dirfd, name, flags, mode);
	fd = open_at(dirfd, name, flags | O_NOFOLLOW, mode);
	if (fd < 0 || !(flags & O_PATH) || flags & O_NOFOLLOW)
		return steal_fd(&fd);
	if (fstat(fd, &status) < 0)
		return -1;
	return S_ISLNK(status.st_mode) ? fail(ELOOP) : steal_fd(&fd);
}

/* "name/": it must be a directory, and cannot be made by opening it. */
static int open_last_slashed(int dirfd, const char *name, int flags, mode_t mode)
{
	if (flags & O_CREAT) /* in the kernel's words: of "./" it says first that it is there */
		return fail(flags & O_EXCL && is_dots(name, strlen(name), 1) ? EEXIST : EISDIR);
	return open_directory(dirfd, name, flags, mode);
}

static int walk(int dirfd, const char *path, int flags, mode_t mode)
{
	cleanup_close int owned = -1;
	char name[NAME_MAX + 1];
	int at = dirfd;

	for (;;) {
		size_t length = component_length(path);
		const char *rest = skip_slashes(path + length);

		if (length > NAME_MAX)
			return fail(ENAMETOOLONG);
		memcpy(name, path, length);
		name[length] = '\0';
		if (path[length] == '\0')
			return open_last(at, name, flags, mode);
		if (*rest == '\0')
			return open_last_slashed(at, name, flags, mode);
		at = open_directory(at, name, O_PATH | O_CLOEXEC, 0);
		(void)fd_close(owned);
		owned = at;
		if (at < 0)
			return -1;
		path = rest;
	}
}

int beneath_open_walk(int dirfd, const char *path, int flags, mode_t mode)
{
	path = check_path(path);
	if (path == NULL)
		return -1;
	return walk(dirfd, path, check_flags(flags), mode);
}

int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	int fd;

	path = check_path(path);
	if (path == NULL)
		return -1;
	flags = check_flags(flags);
	do {
		fd = sys_openat2(dirfd, path, (uint64_t)flags, MAKES_FILE(flags) ? mode & 07777 : 0, resolve);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return walk(dirfd, path, flags, mode);
	return fd;
}

/*
 * Threat: a name with a slash behind it makes the kernel follow a symlink of that name, O_NOFOLLOW or not; so the last
 * component must be bare, and "." and ".." name nothing that could be made, renamed or removed.
 */
int beneath_open_parent(int dirfd, const char *path, const char **ret_name)
{
	char parent[PATH_MAX];
	const char *checked = check_path(path);
	const char *last;
	size_t length;
	int fd;

	if (checked == NULL)
		return -1;
	last = strrchr(checked, '/');
	last = last != NULL ? last + 1 : checked;
	if (*last == '\0' || is_dots(last, strlen(last), 1))
		return fail(EINVAL);
	length = (size_t)(last - checked);
	memcpy(parent, checked, length);
	parent[length] = '\0';
	fd = beneath_open(dirfd, parent, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		*ret_name = last;
	return fd;
}

int beneath_mkdir(int dirfd, const char *path, mode_t mode)
{
	const char *name;
	cleanup_close int parent = beneath_open_parent(dirfd, path, &name);

	return parent < 0 ? -1 : mkdirat(parent, name, mode);
}

int beneath_symlink(const char *target, int dirfd, const char *path)
{
	const char *name;
	cleanup_close int parent = beneath_open_parent(dirfd, path, &name);

	return parent < 0 ? -1 : symlinkat(target, parent, name);
}

int beneath_unlink(int dirfd, const char *path, int flags)
{
	const char *name;
	cleanup_close int parent = beneath_open_parent(dirfd, path, &name);

	return parent < 0 ? -1 : unlinkat(parent, name, flags);
}

int beneath_rename(int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags)
{
	const char *from_name, *to_name;
	cleanup_close int from_parent = beneath_open_parent(from_dirfd, from, &from_name);
	cleanup_close int to_parent = from_parent < 0 ? -1 : beneath_open_parent(to_dirfd, to, &to_name);

	return to_parent < 0 ? -1 : renameat2(from_parent, from_name, to_parent, to_name, flags);
}

int beneath_stat(int dirfd, const char *path, struct stat *ret_status)
{
	cleanup_close int fd = beneath_open(dirfd, path, O_PATH | O_NOFOLLOW, 0);

	return fd < 0 ? -1 : fstat(fd, ret_status);
}

ssize_t beneath_readlink(int dirfd, const char *path, char *buf, size_t size)
{
	const char *name;
	cleanup_close int parent = beneath_open_parent(dirfd, path, &name);
	ssize_t length = parent < 0 ? -1 : readlinkat(parent, name, buf, size);

	if (length < 0)
		return -1;
	if ((size_t)length >= size)
		return fail(ENAMETOOLONG);
	buf[length] = '\0';
	return length;
}

/* Race: whoever makes the name first, it is opened as what it is then, without following. */
static int make_dir(int dirfd, const char *name, mode_t mode)
{
	int fd = open_directory(dirfd, name, O_PATH | O_CLOEXEC, 0);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
		return -1;
	return open_directory(dirfd, name, O_PATH | O_CLOEXEC, 0);
}

int beneath_make_dirs(int dirfd, const char *path, mode_t mode)
{
	cleanup_close int at = -1;
	char name[NAME_MAX + 1];

	path = check_path(path);
	if (path == NULL)
		return -1;
	at = open_directory(dirfd, ".", O_PATH | O_CLOEXEC, 0);
	while (at >= 0 && *path != '\0') {
		size_t length = component_length(path);
		int below;

		if (length > NAME_MAX)
			return fail(ENAMETOOLONG);
		memcpy(name, path, length);
		name[length] = '\0';
		below = make_dir(at, name, mode);
		(void)fd_close(at);
		at = below;
		path = skip_slashes(path + length);
	}
	return steal_fd(&at);
}

size_t beneath_link_length(int dirfd, const char *path)
{
	char part[PATH_MAX];
	size_t size = strlen(path);

	for (size_t at = 0; at < size && at + 1 < sizeof part; at++) {
		cleanup_close int fd = -1;

		if (path[at] == '/' || (path[at + 1] != '/' && path[at + 1] != '\0'))
			continue;
		memcpy(part, path, at + 1);
		part[at + 1] = '\0';
		fd = beneath_open(dirfd, part, O_PATH, 0);
		if (fd < 0 && errno == ELOOP)
			return at + 1;
	}
	return size;
}
