/*
 * The features' rows: what stands between the command and the host, by which mechanism, and what is lost where this
 * machine lacks something. The plan's namespaces are settled here, because a lack changes them.
 *
 * In best-effort a namespace that cannot be had is left out and its row says so. Without user, mount and pid namespaces
 * and a fresh proc there is no boundary, so those rows forbid a run in every mode (requirements.c).
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>

#include "base/error.h"
#include "runtime/plan/planner.h"

struct enforcement_row *planner_add_row(struct planner *planner, const char *name, bool limit)
{
	struct enforcement *enforcement = &planner->plan->enforcement;
	struct enforcement_row *row = arena_push(planner->arena, &enforcement->rows, &enforcement->n_rows);

	if (row == NULL)
		return NULL;
	row->name = name;
	row->limit = limit;
	return row;
}

/* "No space left on device" of a namespace that may not be made says nothing about a device: what was found is said. */
static const char *lack_text(struct planner *planner, const struct fact *lack)
{
	const char *name = error_errno_name(lack->sys_errno);

	if (lack->sys_errno == 0)
		return arena_strdup(planner->arena, lack->detail[0] != '\0' ? lack->detail : lack->step);
	if (lack->sys_errno == ENOSPC && lack->detail[0] != '\0')
		return arena_printf(planner->arena, "%s: %s (%s)", lack->step, lack->detail, name);
	return arena_printf(planner->arena, "%s: %s (%s)%s%s", lack->step, strerror(lack->sys_errno), name,
		lack->detail[0] != '\0' ? "; " : "", lack->detail);
}

void planner_row_lacks(struct planner *planner, struct enforcement_row *row, enum host_fact fact)
{
	const struct fact *lack = &planner->host->facts[fact];
	char fix[256];

	row->state = ROW_UNENFORCEABLE;
	row->mechanism = NULL;
	row->strength = STRENGTH_NONE;
	row->scope = SCOPE_NONE;
	row->reason = lack_text(planner, lack);
	if (row->reason != NULL && row->reason[0] == '\0')
		row->reason = arena_printf(planner->arena, "%s is not to be had here", host_fact_name(fact));
	if (host_fact_remedy(planner->host, fact, fix, sizeof fix)[0] != '\0')
		row->fix = arena_strdup(planner->arena, fix);
}

void planner_warn(struct planner *planner, const char *fmt, ...)
{
	struct enforcement *enforcement = &planner->plan->enforcement;
	const char **slot = arena_push(planner->arena, &enforcement->warnings, &enforcement->n_warnings);
	va_list args;

	if (slot == NULL)
		return;
	va_start(args, fmt);
	*slot = arena_vprintf(planner->arena, fmt, args);
	va_end(args);
}

static bool lacks(const struct planner *planner, enum host_fact fact)
{
	return planner->host->facts[fact].state == FACT_NO;
}

/* A row that is enforced by the kernel for the whole tree unless one of the facts is missing. */
static struct enforcement_row *add(struct planner *planner, const char *name, const char *mechanism, enum host_fact fact)
{
	struct enforcement_row *row = planner_add_row(planner, name, false);

	if (row == NULL)
		return NULL;
	if (fact != _FACT_COUNT && lacks(planner, fact)) {
		planner_row_lacks(planner, row, fact);
		return row;
	}
	row->state = ROW_ENFORCED;
	row->strength = STRENGTH_KERNEL;
	row->scope = SCOPE_TREE;
	row->mechanism = mechanism;
	return row;
}

/* Where a row stands on more than one. */
static void needs(struct planner *planner, struct enforcement_row *row, enum host_fact fact)
{
	if (row != NULL && row->state == ROW_ENFORCED && lacks(planner, fact))
		planner_row_lacks(planner, row, fact);
}

static void degrade(struct enforcement_row *row, const char *reason, const char *fix)
{
	if (row == NULL || row->state == ROW_UNENFORCEABLE)
		return;
	row->state = ROW_DEGRADED;
	row->reason = reason;
	row->fix = fix;
}

static void turn_off(struct enforcement_row *row, const char *reason)
{
	if (row == NULL)
		return;
	*row = (struct enforcement_row){.name = row->name, .state = ROW_OFF, .reason = reason};
}

static void add_user_namespace(struct planner *planner)
{
	struct enforcement_row *row = add(planner, "user_namespace", "clone3", FACT_USER_NAMESPACE);

	if (!planner->plan->identity.mapped)
		needs(planner, row, FACT_OWN_ID);
}

static void add_namespaces(struct planner *planner)
{
	static const struct {
		const char *name;
		enum host_fact fact;
		uint64_t flag;
	} namespaces[] = {
		{"ipc_namespace", FACT_IPC_NAMESPACE, CLONE_NEWIPC},
		{"uts_namespace", FACT_UTS_NAMESPACE, CLONE_NEWUTS},
		{"cgroup_namespace", FACT_CGROUP_NAMESPACE, CLONE_NEWCGROUP},
	};

	for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++) {
		(void)add(planner, namespaces[i].name, "clone3", namespaces[i].fact);
		if (!lacks(planner, namespaces[i].fact))
			planner->plan->namespaces |= namespaces[i].flag;
	}
}

static void add_network(struct planner *planner)
{
	struct enforcement_row *row = add(planner, "network", "net_namespace", FACT_NET_NAMESPACE);

	if (planner->policy->network == NETWORK_HOST) {
		turn_off(row, "the host's network is open to the command");
		return;
	}
	if (lacks(planner, FACT_NET_NAMESPACE))
		return;
	planner->plan->namespaces |= CLONE_NEWNET;
	planner->plan->loopback = !lacks(planner, FACT_LOOPBACK);
	if (!planner->plan->loopback)
		degrade(row, "127.0.0.1 and ::1 do not work inside", NULL);
}

static void add_identity(struct planner *planner)
{
	const struct plan_identity *identity = &planner->plan->identity;
	struct enforcement_row *row;

	if (!identity->mapped) {
		row = add(planner, "identity", "caller", _FACT_COUNT);
		if (row != NULL)
			row->reason = arena_printf(planner->arena, "uid %u inside is the caller's uid %u",
				identity->inner_uid, planner->outer_uid);
		if (planner->outer_uid == 0)
			degrade(row, "uid 0 inside is the host's uid 0: files of root's in writable paths are writable",
				planner->host->privileged
					? "leave process.identity at \"auto\""
					: "start pinfold with CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID, or as an ordinary user");
		return;
	}
	row = add(planner, "identity", "id_map", FACT_ID_MAP);
	if (identity->idmap)
		needs(planner, row, FACT_IDMAPPED_MOUNT);
	if (row != NULL && row->state == ROW_ENFORCED)
		row->reason = arena_printf(planner->arena, "uid %u inside is host uid %u + the pid of the sandbox's init",
			identity->inner_uid, identity->uid_base);
}

static void add_setuid_files(struct planner *planner)
{
	struct enforcement_row *row = add(planner, "setuid_files", "seccomp", FACT_SECCOMP_FILTER);

	if (planner->plan->filter.user_namespaces)
		degrade(row, "in namespaces of its own the command may mount file systems that keep set-id files",
			planner->policy->nested_namespaces ? "process.nested_namespaces false"
							   : "a seccomp profile that lets no namespace be made");
	else if (row != NULL && row->state == ROW_ENFORCED)
		row->reason = "a set-id file that is in a writable path already can still be overwritten there";
}

/* Sockets in files are reached through read-only mounts and from any network namespace. */
static void add_host_sockets(struct planner *planner)
{
	static const char files[] =
		"those in /run and /tmp are hidden, but for what the policy shows there; a socket elsewhere in what the command "
		"can read can be connected to";
	static const char more[] = "but for sockets in what the policy shows beyond the root";
	static const char names[] = "abstract sockets of the host's network namespace can be connected to";
	struct enforcement_row *row = add(planner, "host_sockets", "mounts", FACT_MOUNT_NAMESPACE);
	bool root = planner->policy->root == ROOT_HOST;
	bool network = (planner->plan->namespaces & CLONE_NEWNET) == 0 && planner->plan->landlock.scopes == 0;

	if (root && network)
		degrade(row, arena_printf(planner->arena, "%s; %s", files, names),
			"filesystem.root \"system\" and network.mode \"none\"");
	else if (root)
		degrade(row, files, "filesystem.root \"system\"");
	else if (planner->socket_shown != NULL)
		degrade(row,
			arena_printf(planner->arena, "the policy shows %s, which can be connected to",
				planner->socket_shown),
			"leave it out of what the policy shows, or deny it");
	else if (network)
		degrade(row, names, "network.mode \"none\"");
	else if (planner->more_shown && row != NULL && row->state == ROW_ENFORCED)
		row->reason = more;
}

static void add_protected_paths(struct planner *planner)
{
	const struct mount_plan *mounts = &planner->plan->mounts;
	struct enforcement_row *row = add(planner, "protected_paths", "mounts", FACT_MOUNT_NAMESPACE);
	size_t monitored = 0;

	for (size_t i = 0; i < mounts->n_ops; i++)
		monitored += (mounts->ops[i].flags & MOUNT_MONITOR) != 0;
	if (row == NULL)
		return;
	if (monitored == 0 && planner->plan->n_guards == 0 && !planner->link_protected && !planner->globs_cut) {
		turn_off(row, NULL);
		return;
	}
	if (row->state == ROW_UNENFORCEABLE)
		return;
	row->strength = STRENGTH_SUPERVISED;
	if (planner->plan->n_guards > 0) {
		row->mechanism = "inotify";
		row->reason =
			"names that do not exist yet are removed where the command plants them, links put back; until then they can be seen";
	}
	if (planner->globs_cut)
		degrade(row, "too many entries: not all that match the patterns of filesystem.deny were looked for",
			"narrower patterns");
	if (planner->link_protected)
		degrade(row, "a protected path leads through too many symbolic links", NULL);
}

/* The filter is asked and not the policy: a profile or an "allow" may open them, too. */
static void add_nested_namespaces(struct planner *planner)
{
	struct enforcement_row *row = add(planner, "nested_namespaces", "seccomp", FACT_SECCOMP_FILTER);

	if (planner->plan->filter.user_namespaces)
		turn_off(row,
			"the command may make some: as root in them it reaches more of the kernel (mounts, file systems, network "
			"configuration), and so more of its bugs");
}

static void add_proc_masks(struct planner *planner)
{
	struct enforcement_row *row = add(planner, "proc_masks", "mounts", FACT_PROC_MOUNT);
	bool root = planner->outer_uid == 0 && !planner->plan->identity.mapped;

	if (!planner->policy->nested_namespaces || row == NULL || row->state != ROW_ENFORCED)
		return;
	/* A proc can be mounted only by who sees a whole one. The host's uid 0 could write to it, so for it masks stay. */
	if (root)
		row->reason = "a sandbox inside cannot mount a proc of its own, nor any other file system";
	else
		degrade(row,
			"left off, so that a sandbox inside can mount a proc of its own: what is global in /proc shows",
			"process.nested_namespaces false");
}

int planner_features(struct planner *planner, struct error *err)
{
	if (planner->policy->backend == BACKEND_NONE) {
		planner_features_none(planner);
		return arena_check(planner->arena, err);
	}
	planner->plan->namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
	add_user_namespace(planner);
	(void)add(planner, "mount_namespace", "clone3", FACT_MOUNT_NAMESPACE);
	(void)add(planner, "pid_namespace", "clone3", FACT_PID_NAMESPACE);
	add_network(planner);
	add_namespaces(planner);
	add_identity(planner);
	(void)add(planner, "no_new_privs", "prctl", FACT_NO_NEW_PRIVS);
	(void)add(planner, "capabilities", "capset", FACT_USER_NAMESPACE);
	(void)add(planner, "seccomp", "filter", FACT_SECCOMP_FILTER);
	add_nested_namespaces(planner);
	planner_fence(planner);
	add_proc_masks(planner);
	needs(planner, add(planner, "devices", "mounts", FACT_MOUNT_NAMESPACE), FACT_DEVPTS_MOUNT);
	add_setuid_files(planner);
	add_host_sockets(planner);
	add_protected_paths(planner);
	needs(planner, add(planner, "tree_kill", "pid_namespace", FACT_PID_NAMESPACE), FACT_PIDFD);
	return arena_check(planner->arena, err);
}
