/* What the kernel offers beside namespaces and cgroups: tried in a throw-away child. */
#ifndef HOST_KERNEL_PROBE_H
#define HOST_KERNEL_PROBE_H

#include "base/error.h"
#include "ns/trial.h"
#include "runtime/host/host.h"

#define KERNEL_PROBE_N 5

struct kernel_probe {
	struct trial_finding findings[KERNEL_PROBE_N]; /* of kernel_probe_facts, in that order */
	unsigned landlock_abi;                         /* 0 where there is none */
};

extern const enum host_fact kernel_probe_facts[KERNEL_PROBE_N];
/* Asked right here. 0, or -1 with errno where there is no Landlock. */
int kernel_landlock_abi(unsigned *ret_abi);
must_check int kernel_probe(struct kernel_probe *ret_probe, struct error *err);
/* Whether this process survives the calls that a launch makes in the parent: those for user namespaces, those for mounts. */
must_check int kernel_probe_survival(struct trial_finding *ret_clone, struct trial_finding *ret_mount, struct error *err);

#endif
