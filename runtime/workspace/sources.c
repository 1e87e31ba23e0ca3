/*
 * The base directory and the grants of one call, each an open descriptor from the moment it was named: what a name is
 * exchanged for afterwards is not granted.
 *
 * A path of a manifest is first a text. It is made absolute and its ".." are taken away with the name before them, which
 * is right because no symlink is followed later, and compared part by part with what was granted ("/base" does not hold
 * "/base-evil"). The longest one that holds it wins, so that what was granted for reading alone stays so below what was
 * granted for writing. What remains of the path is opened below its descriptor, where a symlink is refused.
 *
 * Threat: the manifest was written by somebody else, who may know the host's paths. It is never asked what it may take.
 */
#include "runtime/workspace/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/workspace/local.h"
#include "runtime/workspace/manifest.h"

struct root {
	int dirfd;           /* of a granted file: its directory */
	const char *written; /* absolute and tidy, as the caller wrote it */
	const char *real;    /* without links */
	const char *name;    /* of a granted file in dirfd; NULL: a directory */
	bool writable;
	bool is_base;
	bool denied;
	bool revoked; /* a base directory that another one has replaced */
};

struct sources {
	struct arena *arena;
	struct root *roots;
	size_t n_roots;
};

int sources_new(struct sources **ret_sources, struct error *err)
{
	struct sources *sources = calloc(1, sizeof *sources);

	if (sources == NULL)
		return error_no_memory(err);
	if (arena_new(&sources->arena, err) < 0) {
		free(sources);
		return -1;
	}
	*ret_sources = sources;
	return 0;
}

struct sources *sources_free(struct sources *sources)
{
	if (sources == NULL)
		return NULL;
	for (size_t i = 0; i < sources->n_roots; i++)
		(void)fd_close(sources->roots[i].dirfd);
	(void)arena_free(sources->arena);
	free(sources);
	return NULL;
}

static const struct root *find_base(const struct sources *sources)
{
	for (size_t i = 0; i < sources->n_roots; i++)
		if (sources->roots[i].is_base && !sources->roots[i].revoked)
			return &sources->roots[i];
	return NULL;
}

/* Appends the parts of `path` to an absolute path without a slash at its end; ".." takes one away. False where it gets
 * too long. */
static bool append_parts(char tidy[PATH_MAX], const char *path)
{
	size_t size = strlen(tidy);

	while (*path != '\0') {
		size_t length = strcspn(path, "/");

		if (length == 2 && strncmp(path, "..", 2) == 0) {
			while (size > 0 && tidy[--size] != '/')
				;
		} else if (length > 0 && !(length == 1 && *path == '.')) {
			if (size + 1 + length >= PATH_MAX)
				return false;
			tidy[size++] = '/';
			memcpy(tidy + size, path, length);
			size += length;
		}
		tidy[size] = '\0';
		path += length + strspn(path + length, "/");
	}
	return true;
}

static enum error_code code_of(int sys_errno)
{
	if (sys_errno == ENOENT || sys_errno == ENOTDIR)
		return ERROR_NOT_FOUND;
	return sys_errno == EACCES || sys_errno == EPERM ? ERROR_PERMISSION_DENIED : ERROR_IO;
}

static int fail_open(const char *what, const char *path, int sys_errno, struct error *err)
{
	char shown[200];

	(void)error_set_errno(err, code_of(sys_errno), sys_errno, what, "%s %s cannot be opened", what,
		str_printable(path, shown, sizeof shown));
	return -1;
}

static int refuse(const char *what, const char *path, const char *says, struct error *err)
{
	char shown[200];

	(void)error_set(err, ERROR_USAGE, what, "%s \"%s\": %s", what, str_printable(path, shown, sizeof shown), says);
	return -1;
}

/* The descriptor of the directory `real`, or of the one that the file `real` is in, whose name goes to ret_name. */
static int open_root(const char *real, const char **ret_name)
{
	char above[PATH_MAX];
	cleanup_close int fd = open(real, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	const char *slash = strrchr(real, '/');
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	*ret_name = NULL;
	if (S_ISDIR(st.st_mode) || slash == NULL)
		return steal_fd(&fd);
	if (!S_ISREG(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	(void)snprintf(above, sizeof above, "%.*s/", (int)(slash - real), real);
	*ret_name = slash + 1;
	return open(above, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Whatever it is called: a mount of "/" elsewhere is "/" too. */
static bool is_host_root(int fd, const char *real)
{
	struct stat st, root;

	if (strcmp(real, "/") == 0)
		return true;
	return fstat(fd, &st) == 0 && stat("/", &root) == 0 && st.st_dev == root.st_dev && st.st_ino == root.st_ino;
}

static int add_root(struct sources *sources, const char *written, const char *real, int *fd, const char *name,
	struct root **ret_root, struct error *err)
{
	struct root *root = arena_push(sources->arena, &sources->roots, &sources->n_roots);

	if (root == NULL) {
		(void)error_no_memory(err);
		return -1;
	}
	root->dirfd = steal_fd(fd);
	root->written = arena_strdup(sources->arena, written);
	root->real = arena_strdup(sources->arena, real);
	root->name = name != NULL ? arena_strdup(sources->arena, name) : NULL;
	*ret_root = root;
	return arena_check(sources->arena, err);
}

/* path: as the caller wrote it; absolute, or relative to the current directory. */
static int open_and_add(
	struct sources *sources, const char *what, const char *path, struct root **ret_root, struct error *err)
{
	cleanup_free char *real = realpath(path, NULL);
	cleanup_close int fd = -1;
	char written[PATH_MAX] = "";
	const char *name;

	if (real == NULL)
		return fail_open(what, path, errno, err);
	fd = open_root(real, &name);
	if (fd < 0)
		return fail_open(what, path, errno, err);
	if (name == NULL && is_host_root(fd, real))
		return refuse(what, path, "this is the root of the host, which is never granted as a whole", err);
	/* Where ".." leads in it only the file system knew. */
	if (!append_parts(written, path[0] == '/' && strstr(path, "..") == NULL ? path : real))
		return refuse(what, path, "longer than a path can be", err);
	return add_root(sources, written, real, &fd, name, ret_root, err);
}

int sources_set_base(struct sources *sources, const char *directory, struct error *err)
{
	struct root *root;

	if (directory[0] == '\0')
		return refuse("base directory", directory, "it is empty", err);
	if (open_and_add(sources, "base directory", directory, &root, err) < 0)
		return -1;
	root->revoked = root->name != NULL;
	if (root->revoked)
		return refuse("base directory", directory, "it is a file", err);
	for (size_t i = 0; i < sources->n_roots; i++)
		sources->roots[i].revoked |= sources->roots[i].is_base;
	root->is_base = true;
	return 0;
}

int sources_grant(struct sources *sources, const char *path, bool writable, struct error *err)
{
	struct root *root;

	if (path[0] != '/')
		return refuse("grant", path, "what is granted is an absolute path", err);
	if (open_and_add(sources, "grant", path, &root, err) < 0)
		return -1;
	root->writable = writable;
	return 0;
}

int sources_deny(struct sources *sources, const char *path, struct error *err)
{
	struct root *root;

	if (open_and_add(sources, "denied path", path, &root, err) < 0)
		return -1;
	root->denied = true;
	return 0;
}

int sources_grant_text(struct sources *sources, const char *text, struct error *err)
{
	static const char suffix[] = ":ro";
	size_t size = strlen(text);
	bool read_only = size >= strlen(suffix) && strcmp(text + size - strlen(suffix), suffix) == 0;
	cleanup_free char *path = strndup(text, read_only ? size - strlen(suffix) : size);

	if (path == NULL)
		return error_no_memory(err);
	return sources_grant(sources, path, !read_only, err);
}

static const struct root *longest(const struct sources *sources, const char *path, bool as_written)
{
	const struct root *best = NULL;
	size_t best_size = 0;

	for (size_t i = 0; i < sources->n_roots; i++) {
		const struct root *root = &sources->roots[i];
		const char *above = as_written ? root->written : root->real;

		/* Of two for one path the later one counts, as flags do. */
		if (!root->revoked && manifest_path_is_within(path, above) && strlen(above) >= best_size) {
			best = root;
			best_size = strlen(above);
		}
	}
	return best;
}

static int refuse_source(enum error_code code, const char *path, const char *reason, const char *says, struct error *err)
{
	char shown[200];

	(void)error_set(err, code, "source", "\"%s\" %s", str_printable(path, shown, sizeof shown), says);
	error_add_context(err, "reason", reason);
	return -1;
}

static int fail_outside(const struct sources *sources, const char *path, enum error_code code, struct error *err)
{
	const struct root *base = find_base(sources);
	cleanup_buf struct buf grants = {};
	char shown[120], shown_base[120];

	(void)error_set(err, code, "source",
		"\"%s\" lies outside the base directory %s and outside what the caller granted",
		str_printable(path, shown, sizeof shown),
		base != NULL ? str_printable(base->written, shown_base, sizeof shown_base) : "(there is none)");
	error_set_fix(err, "grant it with --grant PATH[:ro], or name another --base");
	error_add_context(err, "reason", "outside_base_dir");
	error_add_context(err, "base_dir", base != NULL ? base->written : "");
	for (size_t i = 0; i < sources->n_roots; i++)
		if (!sources->roots[i].is_base && !sources->roots[i].revoked && !sources->roots[i].denied)
			buf_printf(&grants, "%s%s", grants.size > 0 ? ", " : "", sources->roots[i].written);
	if (grants.size > 0)
		error_add_context(err, "grants", buf_str(&grants));
	return -1;
}

/* The path as the real roots see it: absolute, tidy, and without what a caller's own link led to. */
static bool to_real(const struct sources *sources, const char *path, char real[PATH_MAX])
{
	const struct root *base = find_base(sources);
	const struct root *root;
	char tidy[PATH_MAX] = "";

	if (path[0] != '/' && base == NULL)
		return false;
	if (path[0] != '/') {
		(void)snprintf(real, PATH_MAX, "%s", base->real);
		return append_parts(real, path);
	}
	if (!append_parts(tidy, path))
		return false;
	root = longest(sources, tidy, true);
	(void)snprintf(real, PATH_MAX, "%s", root != NULL ? root->real : "");
	return append_parts(real, tidy + (root != NULL ? strlen(root->written) : 0));
}

static bool holds_denied(const struct sources *sources, const char *real)
{
	for (size_t i = 0; i < sources->n_roots; i++)
		if (sources->roots[i].denied && manifest_path_is_within(sources->roots[i].real, real))
			return true;
	return false;
}

int sources_find(const struct sources *sources, const char *path, enum error_code code, struct source_place *ret_place,
	struct error *err)
{
	const struct root *root;
	char real[PATH_MAX];
	const char *rest;

	if (!to_real(sources, path, real))
		return fail_outside(sources, path, code, err);
	root = longest(sources, real, false);
	if (root == NULL)
		return fail_outside(sources, path, code, err);
	if (root->denied)
		return refuse_source(code, path, "denied", "is denied by the policy", err);
	rest = root->name != NULL ? root->name : real + strlen(root->real);
	if (root->name != NULL && strcmp(real, root->real) != 0)
		return fail_outside(sources, path, code, err);
	ret_place->dirfd = root->dirfd;
	ret_place->writable = root->writable && !root->is_base;
	ret_place->holds_denied = holds_denied(sources, real);
	(void)snprintf(ret_place->path, sizeof ret_place->path, "%s", rest + strspn(rest, "/"));
	return 0;
}

static int fail_source(enum error_code code, const char *path, int sys_errno, struct error *err)
{
	char shown[200];

	if (sys_errno == ELOOP)
		return refuse_source(code, path, "symlink_not_supported", "is a symlink, or lies behind one", err);
	(void)error_set_errno(
		err, code, sys_errno, "source", "cannot open \"%s\"", str_printable(path, shown, sizeof shown));
	return -1;
}

/* Opens for reading what `place` is; without /proc by its name again, which must be the same thing still. */
static int open_place(int place, const struct source_place *where, const struct stat *judged)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	char self[40];
	struct stat st;
	int fd;

	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", place);
	fd = open(self, flags);
	if (fd < 0 && errno == ENOENT)
		fd = beneath_open(where->dirfd, where->path, flags | O_NOFOLLOW, 0);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == judged->st_dev && st.st_ino == judged->st_ino)
		return fd;
	if (fd >= 0)
		errno = ESTALE;
	return fd_close(fd);
}

int sources_open_file(const struct sources *sources, const char *path, enum error_code code, struct error *err)
{
	struct source_place where = {.dirfd = -1};
	cleanup_close int place = -1;
	struct stat st;
	int fd;

	if (sources_find(sources, path, code, &where, err) < 0)
		return -1;
	place = beneath_open(where.dirfd, where.path, O_PATH, 0);
	if (place < 0 || fstat(place, &st) < 0)
		return fail_source(code, path, errno, err);
	if (!S_ISREG(st.st_mode))
		return refuse_source(code, path, "special_file", "is no regular file", err);
	fd = open_place(place, &where, &st);
	return fd >= 0 ? fd : fail_source(code, path, errno, err);
}

int sources_open_directory(const struct sources *sources, const char *path, enum error_code code, struct error *err)
{
	struct source_place where = {.dirfd = -1};
	int fd;

	if (sources_find(sources, path, code, &where, err) < 0)
		return -1;
	if (where.holds_denied)
		return refuse_source(code, path, "denied", "holds something that is denied by the policy", err);
	fd = local_open_dir(where.dirfd, where.path[0] != '\0' ? where.path : ".", err);
	if (fd < 0 && err != NULL && err->code == ERROR_LOCAL_DIR_READ)
		err->code = code;
	return fd;
}
