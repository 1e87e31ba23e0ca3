/*
 * From paths as people write them to paths that can be mounted on: absolute, without symlinks. Resolving happens here,
 * once; the launch follows no symlink any more, so it meets what was decided on or fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/plan/planner.h"
#include "runtime/policy/path_rule.h"

#define GLOB_ENTRIES_MAX 200000
#define GLOB_DEPTH_MAX   64

size_t planner_depth(const char *path)
{
	size_t depth = 0;

	for (; *path != '\0'; path++) {
		if (path[0] == '/' && path[1] != '/' && path[1] != '\0')
			depth++;
	}
	return depth;
}

bool planner_is_below(const char *path, const char *ancestor)
{
	size_t size = strlen(ancestor);

	if (strcmp(ancestor, "/") == 0)
		return true;
	return strncmp(path, ancestor, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

const char *planner_join(struct planner *planner, const char *directory, const char *name)
{
	size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
	size_t name_size = strlen(name) + 1;
	char *path = arena_alloc(planner->arena, size + 1 + name_size);
	char *slash;

	if (path == NULL)
		return NULL;
	slash = mempcpy(path, directory, size);
	*slash = '/';
	memcpy(slash + 1, name, name_size);
	return path;
}

static size_t cut_last(const char *out, size_t n)
{
	while (n > 0 && out[--n] != '/')
		;
	return n;
}

/* Below a symbolic link, ".." is not where one came from: the file tree is asked. Only what does not exist is text. */
static size_t step_up(char *out, size_t n)
{
	char resolved[PATH_MAX];

	out[n] = '\0';
	if (realpath(out, resolved) != NULL) {
		n = strlen(resolved);
		memcpy(out, resolved, n);
	}
	return cut_last(out, n);
}

/* NULL where ".." climbs above the root. */
static char *normalize(struct planner *planner, const char *path, bool by_text)
{
	size_t room = strlen(path) + 2 + (policy_path_has_parent_steps(path) ? PATH_MAX : 0);
	char *out = arena_alloc(planner->arena, room);
	size_t n = 0;

	if (out == NULL)
		return NULL;
	while (*path != '\0') {
		size_t size = (size_t)(strchrnul(path, '/') - path);

		if (size == 2 && path[0] == '.' && path[1] == '.') {
			if (n == 0)
				return NULL;
			n = by_text ? cut_last(out, n) : step_up(out, n);
		} else if (size > 0 && !(size == 1 && path[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, path, size);
			n += size;
		}
		path += size;
		path += strspn(path, "/");
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

static const char *expand(struct planner *planner, const char *said, bool by_text)
{
	const char *joined = said;
	const char *path;

	if (str_starts_with(said, "~/") || strcmp(said, "~") == 0) {
		if (planner->home == NULL) {
			diag_error(planner->diag, "%s: the caller's home is not known", said);
			return NULL;
		}
		joined = arena_printf(planner->arena, "%s/%s", planner->home, said[1] == '/' ? said + 2 : "");
	} else if (said[0] != '/') {
		joined = planner_join(planner, planner->workspace, said);
	}
	path = joined == NULL ? NULL : normalize(planner, joined, by_text);
	if (path == NULL)
		diag_error(planner->diag, "%s: the path leads above the root directory", said);
	return path;
}

const char *planner_expand(struct planner *planner, const char *said)
{
	return expand(planner, said, false);
}

const char *planner_expand_text(struct planner *planner, const char *said)
{
	return expand(planner, said, true);
}

int planner_lstat(struct planner *planner, const char *path, struct stat *ret_st)
{
	return look_lstat(&planner->looks, planner->arena, path, ret_st);
}

int planner_stat(struct planner *planner, const char *path, struct stat *ret_st)
{
	return look_stat(&planner->looks, planner->arena, path, ret_st);
}

/* Whether an absolute, normal path is there without a symbolic link in it, and so is canonical already. */
static bool is_canonical(struct planner *planner, const char *path)
{
	char head[PATH_MAX];
	size_t size = strlen(path);
	struct stat st;

	if (path[0] != '/' || size >= sizeof head || policy_path_has_parent_steps(path))
		return false;
	for (size_t at = 1; at <= size; at++) {
		at = (size_t)(strchrnul(path + at, '/') - path);
		memcpy(head, path, at);
		head[at] = '\0';
		if (planner_lstat(planner, head, &st) < 0 || S_ISLNK(st.st_mode))
			return false;
	}
	return true;
}

const char *planner_canonical(struct planner *planner, const char *path, bool *ret_exists)
{
	char resolved[PATH_MAX];
	char *head = arena_strdup(planner->arena, path);
	const char *rest = path + strlen(path);

	*ret_exists = true;
	if (head != NULL && is_canonical(planner, path))
		return head;
	while (head != NULL && realpath(head, resolved) == NULL) {
		char *slash = strrchr(head, '/');

		*ret_exists = false;
		if (slash == head || slash == NULL)
			return path;
		*slash = '\0';
		rest = path + (slash - head);
	}
	if (head == NULL)
		return NULL;
	if (*rest == '\0')
		return arena_strdup(planner->arena, resolved);
	return arena_printf(planner->arena, "%s%s", strcmp(resolved, "/") == 0 ? "" : resolved, rest);
}

size_t planner_pattern_at(const char *path)
{
	size_t at = strcspn(path, "*?[");

	if (path[at] == '\0')
		return at;
	while (at > 0 && path[at - 1] != '/')
		at--;
	return at;
}

struct glob {
	struct planner *planner;
	void (*fn)(struct planner *, const char *, void *);
	void *userdata;
	size_t entries_left;
};

static void glob_match(struct glob *glob, const char *directory, const char *pattern, size_t depth);

/* The rest of the pattern holds for this entry of the directory. */
static void glob_entry(
	struct glob *glob, const char *path, bool is_directory, const char *element, const char *rest, size_t depth)
{
	const char *name = strrchr(path, '/') + 1;
	bool deep = strcmp(element, "**") == 0;

	if (deep && rest != NULL) {
		if (is_directory)
			glob_match(glob, path, arena_printf(glob->planner->arena, "**/%s", rest), depth + 1);
		return;
	}
	if (!deep && fnmatch(element, name, 0) != 0)
		return;
	if (rest == NULL) /* "**" at the end: whatever is there, and with a directory all that is in it */
		glob->fn(glob->planner, path, glob->userdata);
	else if (is_directory)
		glob_match(glob, path, rest, depth + 1);
}

static bool is_directory_entry(int directory, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Symlinks are not followed: what they lead to has a path of its own. */
static void glob_match(struct glob *glob, const char *directory, const char *pattern, size_t depth)
{
	const char *slash = strchr(pattern, '/');
	const char *rest = slash == NULL ? NULL : slash + 1;
	const char *element = arena_strndup(glob->planner->arena, pattern, strcspn(pattern, "/"));
	DIR *dir;
	const struct dirent *entry;

	if (depth > GLOB_DEPTH_MAX)
		glob->planner->globs_cut = true;
	if (element == NULL || depth > GLOB_DEPTH_MAX)
		return;
	if (strcmp(element, "**") == 0 && rest != NULL) /* "**" stands for no directory, too */
		glob_match(glob, directory, rest, depth + 1);
	dir = opendir(directory);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (glob->entries_left == 0) {
			glob->planner->globs_cut = true;
			break;
		}
		glob->entries_left--;
		glob_entry(glob, planner_join(glob->planner, directory, entry->d_name),
			is_directory_entry(dirfd(dir), entry), element, rest, depth);
	}
	(void)closedir(dir);
}

void planner_glob(struct planner *planner, const char *directory, const char *pattern,
	void (*fn)(struct planner *, const char *, void *), void *userdata)
{
	struct glob glob = {planner, fn, userdata, GLOB_ENTRIES_MAX};

	glob_match(&glob, directory, pattern, 0);
}
