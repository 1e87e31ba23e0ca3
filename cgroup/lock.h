/* Who uses a cgroup directory: many at once, or one alone. */
#ifndef CGROUP_LOCK_H
#define CGROUP_LOCK_H

#include <stdbool.h>

#include "base/error.h"

/* Holds the directory as one of many as long as the returned descriptor, or a copy in a child, is open. Nobody without
 * the right to move processes in the directory can keep us from it. */
must_check int lock_shared(int dirfd, struct error *err);
/* Holds the directory alone as long as the returned descriptor is open, or -1: no waiting, and why not is of no interest. */
int lock_at_once(int dirfd);
/* Makes a descriptor of lock_shared() the only one, at once or not at all. False too where the right is lacking, or
 * some reader of the machine holds it shared. */
bool lock_alone(int lock_fd);

#endif
