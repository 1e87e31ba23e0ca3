/* Where this process's own cgroup v2 directory is, from the text of /proc/self/cgroup and /proc/self/mountinfo. Pure. */
#ifndef CGROUP_LOCATION_H
#define CGROUP_LOCATION_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th path by which the directory may be reached: there is one for each cgroup2 mount that shows it. False where
 * there are not so many, or the path does not fit. Whether it is really a cgroup2 directory is the caller's to ask. */
bool location_candidate(const char *cgroup, const char *mountinfo, size_t n, char *ret_path, size_t size);

#endif
