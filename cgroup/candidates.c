/*
 * Which cgroups come into question for groups of ours, beside the own one: two that may lie further up.
 *
 * All that lies above is looked for by name only; whether groups can be made there is tried by who asks (cgroup_probe.c).
 */
#include "cgroup/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/manager.h"
#include "cgroup/place.h"

/* A unit of the manager's that it has not delegated. */
bool candidate_is_the_managers(const char *path)
{
	return manager_runs() && manager_unit_of(path) != UNIT_NONE && !manager_delegates(path);
}

/* The directory above, where whoever started this process has put it into a leaf of what was delegated. */
bool candidate_above(const char *path, char *ret_path, size_t size)
{
	const char *slash = strrchr(path, '/');
	cleanup_close int fd = -1;
	int n;

	if (slash == NULL || slash == path || (manager_runs() && manager_unit_of(path) != UNIT_NONE))
		return false;
	n = snprintf(ret_path, size, "%.*s", (int)(slash - path), path);
	if (n <= 0 || (size_t)n >= size || candidate_is_the_managers(ret_path))
		return false;
	fd = group_base_open(ret_path, NULL);
	return fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) == 0;
}

/* The root of the hierarchy, where it shows here: alone it has no cgroup.type. */
bool candidate_top(const char *path, char *ret_path, size_t size)
{
	char type[PLACE_PATH_MAX + sizeof "/cgroup.type"];
	char *slash;

	if (geteuid() != 0 || strlen(path) >= size)
		return false;
	(void)snprintf(ret_path, size, "%s", path);
	while ((slash = strrchr(ret_path, '/')) != NULL && slash != ret_path) {
		cleanup_close int fd = -1;

		*slash = '\0';
		fd = group_base_open(ret_path, NULL);
		if (fd >= 0)
			continue;
		*slash = '/';
		break;
	}
	(void)snprintf(type, sizeof type, "%s/cgroup.type", ret_path);
	return access(type, F_OK) < 0 && errno == ENOENT;
}

/* One base after the other; the first failure is kept, and what can be removed is. */
static void sweep_one(const char *path, size_t *removed, struct error *first)
{
	struct error err = {0};
	size_t n = 0;

	if (group_sweep(path, &n, &err) == 0 && place_recover(path, &err) == 0)
		err = (struct error){0};
	*removed += n;
	if (first->code == ERROR_NONE)
		*first = err;
}

int candidates_sweep(size_t *ret_removed, struct error *err)
{
	struct error first = {0};
	char own[PLACE_PATH_MAX], other[PLACE_PATH_MAX];
	int named = group_base_named(own, sizeof own, err);

	*ret_removed = 0;
	if (named < 0 || (named == 0 && group_base_find(own, sizeof own, err) < 0))
		return -1;
	if (own[0] == '\0')
		return 0;
	sweep_one(own, ret_removed, &first);
	if (named == 0 && candidate_above(own, other, sizeof other))
		sweep_one(other, ret_removed, &first);
	if (named == 0 && candidate_top(own, other, sizeof other) && strcmp(other, own) != 0)
		sweep_one(other, ret_removed, &first);
	if (first.code == ERROR_NONE)
		return 0;
	if (err != NULL)
		*err = first;
	return -1;
}
