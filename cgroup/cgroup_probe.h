/* What may be done with cgroups here: tried on a group of our own, which is removed again. */
#ifndef CGROUP_CGROUP_PROBE_H
#define CGROUP_CGROUP_PROBE_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cgroup/controllers.h"

enum cgroup_ability {
	CGROUP_GROUP, /* a group can be made, entered and removed */
	CGROUP_KILL,
	CGROUP_MEMORY, /* our groups have the controller */
	CGROUP_SWAP,   /* and count swap */
	CGROUP_PIDS,
	CGROUP_CPU,
	_CGROUP_ABILITY_COUNT
};

struct cgroup_request {
	unsigned wanted;        /* the set of controllers by which something is to be limited */
	unsigned worth_a_scope; /* of these, those for which the service manager may be asked (manager.h) */
	bool untried;           /* no group is made: what the directory's files let expect is taken for true */
};

struct cgroup_finding {
	bool works;
	int sys_errno;    /* the kernel's word where it does not work, 0 where none */
	char step[64];    /* what failed; "" where it works */
	char detail[200]; /* what was found */
};

/* What had to be done so that groups with limits can be made; as long as it is held, they can. Freeing it takes back
 * what can be taken back (place.h). */
struct cgroup_hold;
struct cgroup_hold *cgroup_hold_free(struct cgroup_hold *hold);
CLEANUP_DEFINE(struct cgroup_hold, cgroup_hold_free)

struct cgroup_probe {
	char base[1024]; /* below which groups are made; "" where none can be */
	struct cgroup_finding findings[_CGROUP_ABILITY_COUNT];
	struct cgroup_hold *hold; /* the caller's to free; NULL where base is "" */
};

/* Looks for a cgroup in which groups can be made that have the wanted controllers: the one named in $PINFOLD_CGROUP,
 * else this process's own, the one above it, and a scope from the service manager. Only for what is wanted is anything
 * changed: controllers are switched on, and this process may be moved (place.h, manager.h). A lack of memory, processes
 * or descriptors is an error, everything else a finding. */
must_check int cgroup_probe(const struct cgroup_request *request, struct cgroup_probe *ret_probe, struct error *err);

#endif
