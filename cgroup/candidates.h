/* Cgroups below which groups of ours may be, beside the own one. */
#ifndef CGROUP_CANDIDATES_H
#define CGROUP_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether the directory is a unit of the service manager's that it has not delegated. */
bool candidate_is_the_managers(const char *path);
/* The directory above, where whoever started this process has put it into a leaf of what was delegated. */
bool candidate_above(const char *path, char *ret_path, size_t size);
/* For root: the root of the hierarchy, where it shows here. */
bool candidate_top(const char *path, char *ret_path, size_t size);
/* Removes what dead runs left in any of them (group_sweep, place_recover). */
must_check int candidates_sweep(size_t *ret_removed, struct error *err);

#endif
