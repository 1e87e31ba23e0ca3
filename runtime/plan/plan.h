/*
 * Everything a launch needs, decided and formatted beforehand. Pure: made from a policy, a host and a command, without
 * looking at anything but the file tree (stat, readlink, readdir, and the small files that say where a git
 * checkout's data is, and its index). Launch and supervise only carry it out.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "base/error.h"
#include "base/steps.h"
#include "cgroup/group_limits.h"
#include "ns/landlock.h"
#include "ns/mounts.h"
#include "runtime/host/host.h"
#include "runtime/plan/enforcement.h"
#include "runtime/policy/policy.h"
#include "seccomp/filter.h"

enum plan_stdin {
	PLAN_STDIN_NONE,
	PLAN_STDIN_FD,
	PLAN_STDIN_DATA
};
enum plan_output {
	PLAN_OUTPUT_CAPTURE,
	PLAN_OUTPUT_FD,
	PLAN_OUTPUT_RELAY,
	PLAN_OUTPUT_TTY
};

/* What the caller wants to run. Borrowed while planning; the plan copies what it keeps. */
struct command {
	char **argv;           /* NULL-terminated */
	const char *workspace; /* absolute or relative; NULL: current directory */
	const char *directory; /* NULL: current directory where in the workspace, else the workspace */
	char **environment;    /* NULL-terminated, from which "pass" takes */
	const char *home;      /* the caller's home for "~/"; NULL: none known */
	enum plan_stdin stdin_mode;
	int stdin_fd;
	const void *stdin_data; /* must outlive the run */
	size_t stdin_size;
	enum plan_output output;
	int out_fd, err_fd;
	uint64_t kill_after_ns;
	struct steps *steps; /* NULL: the time of the launch is not asked for; outlives the run */
};

struct plan_rlimit {
	int resource; /* RLIMIT_* */
	struct rlimit value;
	const char *name;
};

/* A protected name that no mount can hold: one that did not exist at launch, which the supervisor removes where it is
 * planted, or a symbolic link, which it puts back where it is replaced. */
struct plan_guard {
	const char *root;       /* host path of an existing, writable directory */
	const char *relative;   /* below it; some ancestors may exist */
	const char *link;       /* what the symbolic link says; NULL: the name is to stay absent */
	uint64_t device, inode; /* of root */
};

/* A checkout whose index host-side git reads where somebody uses git in the workspace. */
struct plan_git {
	const char *checkout, *directory; /* host paths; its git directory need not exist */
	size_t hash_size;                 /* of its object names */
	bool read_only;                   /* nothing inside can write the index */
	bool strange;                     /* its index could not be read when the plan was made: warned about */
};

struct plan_owner {
	uid_t uid;
	gid_t gid;
};

struct plan_identity {
	uid_t inner_uid;
	gid_t inner_gid;
	bool privileged; /* the parent opens the sources of the binds, and supplementary groups can be dropped */
	bool mapped;     /* the host uid is chosen at launch from uid_base (started by root); else the caller's own */
	uid_t uid_base;
	uid_t workspace_uid; /* mapped: the on-disk owner that the id-mapped mounts present as the inside's */
	gid_t workspace_gid;
	/* Of private trees that are to be read. mount_op.owner is the place + 1, or 0 for the workspace's owner. */
	struct plan_owner *owners;
	size_t n_owners;
	bool idmap;          /* some mount op has MOUNT_IDMAP */
	bool idmap_required; /* and not only MOUNT_TRY_IDMAP */
};

struct plan {
	struct arena *arena;
	struct steps *steps; /* the command's */
	/* command */
	char **argv;
	char **environment;
	const char *path; /* PATH in which argv[0] is looked up inside, where it has no slash */
	const char *directory;
	const char *workspace;
	/* boundary */
	uint64_t namespaces; /* CLONE_NEW* */
	struct plan_identity identity;
	struct mount_plan mounts;
	struct landlock_plan landlock;
	bool loopback;
	const char *hostname;
	struct filter filter;
	struct plan_rlimit *rlimits;
	size_t n_rlimits;
	unsigned affinity_cpus; /* 0: leave */
	struct plan_guard *guards;
	size_t n_guards;
	struct plan_git *git; /* none where the policy leaves the repository's configuration to the command */
	size_t n_git;
	const char **git_known; /* the `.git` of repositories in them that were there before, and are protected */
	size_t n_git_known;
	const char **ancestors; /* host directories whose renaming takes a mask or a protection away */
	size_t n_ancestors;
	const char **late; /* host paths of what is masked when it appears */
	size_t n_late;
	/* cgroup */
	const char *cgroup_base; /* NULL: none */
	struct group_limits group_limits;
	bool cgroup_inner; /* the command lives in a group below the one that is limited */
	/* supervision */
	uint64_t wall_ns; /* LIMIT_NONE: none */
	uint64_t kill_after_ns;
	uint64_t watch_memory_bytes; /* LIMIT_NONE: not by the watchdog */
	uint64_t watch_processes;
	uint64_t watch_cpu_ns;                /* by sampling (watchdog or cgroup-base) */
	uint64_t output_bytes;                /* cap a stream; LIMIT_NONE */
	uint64_t memory_bytes, processes_max; /* as asked, for limit_hit and limits_touched; LIMIT_NONE */
	enum plan_stdin stdin_mode;
	int stdin_fd;
	const void *stdin_data;
	size_t stdin_size;
	enum plan_output output;
	int out_fd, err_fd;
	/* truth */
	struct enforcement enforcement;
};

/* The controllers by which the limits of the policy would best be held here, for host_probe_cgroup(). */
struct host_wants plan_wants(const struct policy *policy, const struct host *host);
/* Whether there is a boundary. Without one (the backend none) there is no pid namespace that dies as a whole. */
static inline bool plan_is_confined(const struct plan *plan)
{
	return (plan->namespaces & CLONE_NEWPID) != 0;
}

/* policy, host and command are not kept. Mistakes of the policy that only show now (a writable path inside a denied one,
 * a missing write path) are ERROR_POLICY_INVALID with all of them in diag. What cannot be enforced is no error here. */
must_check int plan_new(const struct policy *policy, const struct host *host, const struct command *command,
	struct plan **ret_plan, struct diag *diag, struct error *err);
/* The policy's filter, in `arena`; mistakes in its names go to diag. */
must_check int plan_filter(const struct policy *policy, struct arena *arena, struct filter *ret_filter,
	struct diag *diag, struct error *err);
/* ERROR_UNENFORCEABLE, naming the rows, where the enforcement table forbids a run (strict, or --require unmet). */
must_check int plan_allows_run(const struct plan *plan, const struct policy *policy, struct error *err);
/* Whether the command gets the caller's variable of this name. */
bool plan_passes_variable(const struct policy *policy, const char *name);
/* malloc'ed pinfold.plan/1. */
must_check int plan_json(const struct plan *plan, char **ret_json, struct error *err);
struct plan *plan_free(struct plan *plan);
CLEANUP_DEFINE(struct plan, plan_free)

#endif
