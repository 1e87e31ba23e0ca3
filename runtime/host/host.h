/*
 * What this machine can do, as facts that were tried. A fact not asked for yet is UNKNOWN: the plan takes it for "yes",
 * and the launch, which does the thing itself, fails with the same reason and remedy where it is not so. `check` and
 * best-effort runs probe everything first. Fake hosts for tests are read from JSON.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

#define LANDLOCK_DETAIL "ABI %u"

enum fact_state {
	FACT_UNKNOWN,
	FACT_YES,
	FACT_NO
};

/* Each is tried as the launch would do it. Names (host_fact_name) are those of the fake hosts' JSON. */
enum host_fact {
	FACT_USER_NAMESPACE,  /* clone3 with CLONE_NEWUSER and writing id maps */
	FACT_OWN_ID,          /* the caller's own id can be mapped in it */
	FACT_MOUNT_NAMESPACE, /* private root, open_tree, recursive mount_setattr, move_mount, tmpfs */
	FACT_PID_NAMESPACE,
	FACT_PROC_MOUNT, /* a fresh proc in a new pid namespace */
	FACT_DEVPTS_MOUNT,
	FACT_IPC_NAMESPACE,
	FACT_UTS_NAMESPACE,
	FACT_CGROUP_NAMESPACE,
	FACT_NET_NAMESPACE,
	FACT_LOOPBACK,       /* lo can be brought up in it */
	FACT_ID_MAP,         /* a uid of another owner can be mapped (started by root) */
	FACT_IDMAPPED_MOUNT, /* MOUNT_ATTR_IDMAP on the workspace's file system; workspace-specific, see host_probe */
	FACT_NO_NEW_PRIVS,
	FACT_SECCOMP_FILTER,
	FACT_PIDFD,
	FACT_CLOSE_RANGE,
	FACT_NPROC_PER_NAMESPACE, /* RLIMIT_NPROC counts inside the user namespace */
	FACT_LANDLOCK,            /* detail: LANDLOCK_DETAIL */
	FACT_CGROUP2, /* a directory can be made in a cgroup v2 tree of ours, entered and removed: cgroup-base */
	FACT_CGROUP_KILL,
	FACT_CGROUP_MEMORY, /* its groups have the controllers that are wanted */
	FACT_CGROUP_SWAP,
	FACT_CGROUP_PIDS,
	FACT_CGROUP_CPU,
	_FACT_COUNT
};

struct fact {
	enum fact_state state;
	int sys_errno;    /* FACT_NO: the kernel's word, 0 where none */
	char step[64];    /* FACT_NO: the step that failed ("write uid_map", "mount proc") */
	char detail[200]; /* what was found (a path, an ABI number), "" where nothing is to be said */
};

struct host {
	char kernel[64]; /* uname release */
	uid_t uid;       /* effective ids of the caller */
	gid_t gid;
	bool privileged; /* uid 0 with CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID in its user namespace, where setgroups is allowed */
	bool has_swap;          /* some swap is on; false in a fake host that does not say */
	unsigned n_cpus;        /* it may run on */
	char cgroup_path[1024]; /* the directory below which groups are made; "" where none */
	struct fact facts[_FACT_COUNT];
	unsigned cgroup_asked;           /* the controllers for which cgroups were asked about so far */
	bool cgroup_probed;              /* by this handle, and not known from elsewhere */
	bool cgroup_tried;               /* by making a group */
	struct cgroup_hold *cgroup_hold; /* what keeps cgroup_path usable; owned */
};

/* What cgroups are to be asked for (cgroup_probe.h): sets of controllers. */
struct host_wants {
	unsigned controllers;
	unsigned worth_a_scope;
	bool untried; /* groups are taken for granted: the launch makes one itself */
};

const char *host_fact_name(enum host_fact fact);
/* The remedy for a lack on this host, "" where none is known ("set sysctl user.max_user_namespaces above 0"). */
const char *host_fact_remedy(const struct host *host, enum host_fact fact, char *buf, size_t size);

/* Fills ids, kernel, CPUs: cheap, no probe. */
must_check int host_init(struct host *host, struct error *err);
/* Gives back what probing held. A zeroed host is fine. */
void host_done(struct host *host);
/* Tries everything that is still UNKNOWN, in throw-away children; changes nothing but what host_probe_cgroup() says.
 * `workspace` is the directory for FACT_IDMAPPED_MOUNT (NULL: "/"). Only a lack of memory or descriptors is an error.
 * Safe in a threaded process. */
must_check int host_probe(struct host *host, const char *workspace, const struct host_wants *wants, struct error *err);
/* Only the cgroup facts, which a run needs before it can choose mechanisms. For what is wanted, controllers may be
 * switched on and this process moved to a cgroup of its own; asked again for more, they are probed anew. */
must_check int host_probe_cgroup(struct host *host, const struct host_wants *wants, struct error *err);
/* Only FACT_LANDLOCK, whose ABI decides what the plan asks of it. */
must_check int host_probe_landlock(struct host *host, struct error *err);
/* 0 where there is none, or nobody has asked. */
unsigned host_landlock_abi(const struct host *host);
/* For tests and golden plans: {"kernel": "...", "uid": 0, "gid": 0, "privileged": true, "cpus": 2, "swap": false,
 * "cgroup_path": "", "facts": {"user_namespace": true, "proc_mount": {"errno": "EPERM", "step": "mount proc", "detail":
 * "..."}, "landlock": {"works": true, "detail": "ABI 6"}, ...}}; absent: UNKNOWN. */
must_check int host_parse(const char *json, size_t size, struct host *ret_host, struct error *err);
/* malloc'ed; the same form. */
must_check int host_json(const struct host *host, char **ret_json, struct error *err);

#endif
