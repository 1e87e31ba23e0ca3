/* What may be done with cgroups here: tried on a group of our own, which is removed again. */
#ifndef CGROUP_CGROUP_PROBE_H
#define CGROUP_CGROUP_PROBE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

enum cgroup_ability {
	CGROUP_GROUP, /* a group can be made, entered and removed */
	CGROUP_KILL,
	CGROUP_MEMORY, /* our groups have the controller */
	CGROUP_PIDS,
	CGROUP_CPU,
	_CGROUP_ABILITY_COUNT
};

struct cgroup_finding {
	bool works;
	int sys_errno;    /* the kernel's word where it does not work, 0 where none */
	char step[64];    /* what failed; "" where it works */
	char detail[200]; /* what was found */
};

struct cgroup_probe {
	char base[1024]; /* below which groups are made; "" where none can be */
	struct cgroup_finding findings[_CGROUP_ABILITY_COUNT];
};

/* A lack of memory, processes or descriptors is an error, everything else a finding. */
must_check int cgroup_probe(struct cgroup_probe *ret_probe, struct error *err);
/* Pure: whether `name` is a word of the text of a cgroup.controllers. */
bool cgroup_lists_controller(const char *controllers, const char *name);

#endif
