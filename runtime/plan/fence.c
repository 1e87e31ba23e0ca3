/*
 * The Landlock fence: which rights the command loses, and where it gets them back. What it adds to the mounts and
 * namespaces is said in its row; nothing depends on it, so that a kernel without it makes no verdict worse.
 *
 * - Files are changed only beneath what the plan makes writable. A mount inside needs the right to mount, which a fence
 *   around files takes: where nested namespaces are asked, that part is left out.
 * - TCP is closed only where no network was asked and the namespace for it cannot be had. Landlock knows ports and not
 *   addresses: with a network namespace it would close the loopback in it, which the command may use.
 * - Signals and abstract sockets reach no further than the command's own processes. The namespaces see to that, too,
 *   save for abstract sockets where the host's network is asked, and for the init.
 */
#include <linux/sched.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/plan/planner.h"

static bool is_fenced(const struct planner *planner, const char *path)
{
	const struct landlock_plan *fence = &planner->plan->landlock;

	for (size_t i = 0; i < fence->n_rules; i++) {
		if (planner_is_below(path, fence->rules[i].path))
			return true;
	}
	return false;
}

/* A tree of our own is writable until all that belongs in it stands. */
static bool is_sealed(const struct planner *planner, const char *path)
{
	const struct mount_plan *mounts = &planner->plan->mounts;

	for (size_t i = mounts->n_ops; i > 0 && mounts->ops[i - 1].kind == MOUNT_READONLY; i--) {
		if (strcmp(mounts->ops[i - 1].target, path) == 0)
			return true;
	}
	return false;
}

static void give(struct planner *planner, const char *path, uint64_t access, bool optional)
{
	struct landlock_plan *fence = &planner->plan->landlock;
	struct landlock_rule *rule = arena_push(planner->arena, &fence->rules, &fence->n_rules);

	if (rule != NULL)
		*rule = (struct landlock_rule){path, access, optional};
}

/* Parents come before children in the operations, and a right holds for all below: what is covered needs no rule.
 * In /dev and /proc is only what every plan has there, to be opened and not to be made or removed. */
static void give_writable(struct planner *planner, const struct landlock_abilities *can)
{
	const struct mount_plan *mounts = &planner->plan->mounts;

	for (size_t i = 0; i < mounts->n_ops; i++) {
		const struct mount_op *op = &mounts->ops[i];

		if ((op->flags & MOUNT_WRITE) != 0 && !is_sealed(planner, op->target) && !is_fenced(planner, op->target))
			give(planner, op->target, can->tree, (op->flags & MOUNT_OPTIONAL) != 0);
	}
	give(planner, "/dev", can->content, false);
	give(planner, "/proc", can->content, false);
}

static void settle(struct planner *planner, unsigned abi)
{
	struct landlock_abilities can = landlock_abilities(abi);
	struct landlock_plan *fence = &planner->plan->landlock;

	fence->scopes = can.scopes;
	if (planner->policy->network == NETWORK_NONE && (planner->plan->namespaces & CLONE_NEWNET) == 0)
		fence->tcp = can.tcp;
	if (planner->policy->nested_namespaces)
		return;
	fence->files = can.files;
	fence->stream_access = can.content;
	if (fence->files != 0)
		give_writable(planner, &can);
}

static void tell_enforced(struct planner *planner, struct enforcement_row *row, unsigned abi)
{
	const struct landlock_plan *fence = &planner->plan->landlock;
	cleanup_buf struct buf text = {0};

	buf_printf(&text, "ABI %u, behind mounts and namespaces", abi);
	if (fence->files != 0)
		buf_printf(&text, "; files are changed only beneath the writable paths%s",
			landlock_abilities(abi).truncate != 0 ? "" : " (save by truncate)");
	else
		buf_append_str(&text, "; no rules on files, under which a sandbox inside could not mount");
	if (fence->tcp != 0)
		buf_append_str(&text, "; no TCP port is bound or connected to");
	if (fence->scopes != 0)
		buf_append_str(&text, "; signals and connections to abstract sockets stay within the command");
	row->state = ROW_ENFORCED;
	row->strength = STRENGTH_KERNEL;
	row->scope = SCOPE_TREE;
	row->mechanism = "landlock";
	row->reason = text.failed ? NULL : arena_strdup(planner->arena, buf_str(&text));
}

static void tell_absent(struct planner *planner, struct enforcement_row *row)
{
	planner_row_lacks(planner, row, FACT_LANDLOCK);
	row->state = ROW_OFF;
	row->reason = arena_printf(planner->arena, "the kernel has no Landlock%s%s",
		row->reason != NULL && *row->reason != '\0' ? ": " : "", row->reason != NULL ? row->reason : "");
}

void planner_fence(struct planner *planner)
{
	struct enforcement_row *row = planner_add_row(planner, "landlock", false);
	unsigned abi = host_landlock_abi(planner->host);

	if (row == NULL)
		return;
	settle(planner, abi);
	if (landlock_is_asked(&planner->plan->landlock))
		tell_enforced(planner, row, abi);
	else if (abi == 0)
		tell_absent(planner, row);
	else if (abi == 1)
		row->reason = "ABI 1 would forbid every move of a file between directories";
	else
		row->reason = "rules on files are all this kernel has, and a sandbox inside could not mount under them";
}
