/*
 * The rows where nothing confines (the backend none). Every one is there, because who asks for a row must find it, and
 * all are off but the end of the tree, which is a promise of this backend too.
 *
 * Without a pid namespace the kernel ends nothing by itself. A cgroup takes everything that has not left it, whatever
 * its user; init, as subreaper, all that descends from it and is the caller's to signal. What neither reaches is said.
 */
#include <string.h>

#include "runtime/plan/planner.h"

#define NOTHING "the backend \"none\" confines nothing"

static const char *const off[] = {"user_namespace", "mount_namespace", "pid_namespace", "network", "ipc_namespace",
	"uts_namespace", "cgroup_namespace", "identity", "no_new_privs", "capabilities", "seccomp", "nested_namespaces",
	"landlock", "proc_masks", "devices", "setuid_files", "host_sockets", "protected_paths"};

static const char *caller(struct planner *planner)
{
	return arena_printf(planner->arena, "the command runs as the caller, uid %u, with all of the caller's rights",
		planner->outer_uid);
}

static void add_tree_kill(struct planner *planner)
{
	bool group = planner->plan->cgroup_base != NULL && planner->host->facts[FACT_CGROUP_KILL].state != FACT_NO;
	struct enforcement_row *row = planner_add_row(planner, "tree_kill", false);

	if (row == NULL)
		return;
	if (planner->host->facts[FACT_PIDFD].state == FACT_NO) {
		planner_row_lacks(planner, row, FACT_PIDFD);
		return;
	}
	row->state = ROW_DEGRADED;
	row->mechanism = group ? "cgroup" : "subreaper";
	row->strength = group ? STRENGTH_KERNEL : STRENGTH_SUPERVISED;
	row->scope = SCOPE_TREE;
	row->reason = group
		? "a process that leaves the command's cgroup and then becomes another user or kills pinfold's init can outlive the run"
		: "a process that becomes another user (sudo), that kills or stops pinfold's init, or a tree that forks faster than it is killed can outlive the run";
	row->fix = group ? "the backend \"namespaces\""
			 : "the backend \"namespaces\", or a delegated cgroup v2 directory";
}

void planner_features_none(struct planner *planner)
{
	for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
		struct enforcement_row *row = planner_add_row(planner, off[i], false);

		if (row != NULL)
			row->reason = strcmp(off[i], "identity") == 0 ? caller(planner) : NOTHING;
	}
	add_tree_kill(planner);
}
