/*
 * Sockets in what the policy shows.
 *
 * Threat: to connect to a socket is not to write to its file system. A read-only mount of /run hands the container
 * engine and the service manager to the command, and a network namespace of its own changes nothing, for such names
 * are files. The kernel has no flag of a mount against it, so what is hidden is the places where such sockets are; who
 * names one of them in a policy is told what it opens, and the row host_sockets says it.
 *
 * A look, not a promise: it goes a few levels deep and ends after some hundred entries, and a socket may come later.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "runtime/plan/rules.h"

#define DEPTH_MAX   3
#define ENTRIES_MAX 500 /* of one rule, for each depth */
#define RULES_MAX   256 /* that are looked at */

struct look {
	const struct rules *rules;
	size_t entries_left;
};

static bool is_denied(const struct rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->n; i++) {
		if (rules->list[i].kind == RULE_DENY && planner_is_below(path, rules->list[i].path))
			return true;
	}
	return false;
}

static unsigned type_of(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN : IFTODT(st.st_mode);
}

static const char *find_below(struct look *look, int directory, const char *name, const char *path, unsigned depth);

/* The path of a socket in or at `path`, NULL where none is found. What cannot be looked at cannot be connected to. */
static const char *find_socket(
	struct look *look, int directory, const char *name, const char *path, unsigned type, unsigned depth)
{
	if (type == DT_UNKNOWN)
		type = type_of(directory, name);
	if (type == DT_SOCK)
		return path == NULL || is_denied(look->rules, path) ? NULL : path;
	return type == DT_DIR && depth > 0 && path != NULL ? find_below(look, directory, name, path, depth) : NULL;
}

static const char *find_below(struct look *look, int directory, const char *name, const char *path, unsigned depth)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const char *found = NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		fd_close(fd);
		return NULL;
	}
	while (found == NULL && look->entries_left > 0 && (entry = readdir(dir)) != NULL) {
		look->entries_left--;
		if (entry->d_type == DT_REG || entry->d_type == DT_LNK || strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0)
			continue;
		found = find_socket(look, dirfd(dir), entry->d_name,
			planner_join(look->rules->planner, path, entry->d_name), entry->d_type, depth - 1);
	}
	(void)closedir(dir);
	return found;
}

/* The shallow ones first: a large tree beside must not use up what may be looked at. */
static const char *look_for_socket(const struct rules *rules, const char *path)
{
	const char *found = NULL;

	for (unsigned depth = 0; depth <= DEPTH_MAX && found == NULL; depth++) {
		struct look look = {rules, ENTRIES_MAX};

		found = find_socket(&look, AT_FDCWD, path, path, DT_UNKNOWN, depth);
	}
	return found;
}

/* Beside the workspace, which is the command's own place anyway, and the root, of which the row speaks in general. */
static const char *shown_by(const struct planner *planner, const struct rule *rule)
{
	const char *path = rule->kind == RULE_BIND ? rule->source : rule->path;

	if (rule->kind != RULE_BIND && rule->kind != RULE_READ && rule->kind != RULE_WRITE)
		return NULL;
	return planner_is_below(path, planner->workspace) || strcmp(path, "/") == 0 ? NULL : path;
}

void rules_tell_sockets(const struct rules *rules)
{
	struct planner *planner = rules->planner;
	size_t n_looked = 0;

	for (size_t i = 0; i < rules->n && n_looked < RULES_MAX; i++) {
		const char *path = shown_by(planner, &rules->list[i]), *found;

		if (path == NULL)
			continue;
		planner->more_shown = true;
		n_looked++;
		found = look_for_socket(rules, path);
		if (found == NULL)
			continue;
		planner->socket_shown = found;
		planner_warn(planner,
			"filesystem: %s: shows %s, a socket: that it is read-only keeps nobody from connecting to it",
			rules->list[i].said, found);
	}
}
