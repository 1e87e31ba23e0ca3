/* A cgroup below which groups with limits are made, and what had to be done in it for that. */
#ifndef CGROUP_PLACE_H
#define CGROUP_PLACE_H

#include <stdbool.h>

#include "base/error.h"
#include "cgroup/controllers.h"

#define PLACE_PATH_MAX 1024
/* The group below a place into which this process moves itself, where it stands in the way. */
#define PLACE_SUPERVISOR "pinfold-supervisor"

struct place_lack {
	int sys_errno;    /* the kernel's word, 0 where none */
	char step[64];    /* what failed */
	char detail[200]; /* what was found */
};

struct place {
	char path[PLACE_PATH_MAX];
	unsigned on;                                /* controllers that are on for the groups below */
	struct place_lack lacks[_CONTROLLER_COUNT]; /* of those that are not */
	int fd;
	int lock;   /* shared */
	bool moved; /* this process is in PLACE_SUPERVISOR now, and was in the place before */
};

#define PLACE_INIT ((struct place){.fd = -1, .lock = -1})

/* Opens the directory at `path`, sweeps it, and switches on what is wanted (a set of controllers) and not on yet. For
 * that this process is moved into a group of its own below, where it is the only one in the place (the kernel has no
 * controllers on below a group that processes are in: cgroup-v2.rst, "No Internal Process Constraint"). Controllers
 * that cannot be had are no error. */
must_check int place_open(const char *path, unsigned wanted, struct place *ret_place, struct error *err);
/* After processes that ended without place_close(): where the group they moved into is there and empty, and no group is
 * left, the controllers are switched off again and it is removed. */
must_check int place_recover(const char *path, struct error *err);
/* Takes back the move and what was switched on, where nobody else has made use of it; closes. */
void place_close(struct place *place);

#endif
