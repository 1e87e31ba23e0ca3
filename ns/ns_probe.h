/* Which namespaces, and which mounts in them, this process may make: tried as a launch makes them. */
#ifndef NS_NS_PROBE_H
#define NS_NS_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ns/trial.h"

enum ns_ability {
	NS_USER,   /* some id can be mapped in a new one */
	NS_OWN_ID, /* the caller's id is mapped */
	NS_ID_MAP, /* a uid that is not the caller's is mapped */
	NS_NPROC,  /* RLIMIT_NPROC is counted for the sandbox alone */
	NS_MOUNT,
	NS_DEVPTS,
	NS_PID,
	NS_PROC,
	NS_IPC,
	NS_UTS,
	NS_CGROUP,
	NS_NET,
	NS_LOOPBACK,
	NS_NEW_ROOT, /* another root directory can be entered (not from an initramfs) */
	_NS_ABILITY_COUNT
};

struct ns_probe {
	bool privileged;     /* in: the caller may map other ids than its own */
	uid_t inner_uid;     /* in: inside, where other ids are mapped */
	uid_t uid_base;      /* in: outside */
	uint64_t timeout_ns; /* in: for each child */
	struct trial_finding findings[_NS_ABILITY_COUNT];
};

must_check int ns_probe(struct ns_probe *probe, struct error *err);
/* Whether the file system of `directory` can be id-mapped; nothing is mounted. With `alone`, without what is mounted
 * below the directory. */
must_check int ns_probe_idmapped_mount(const struct ns_probe *probe, const char *directory, bool alone,
	struct trial_finding *ret_finding, struct error *err);

#endif
