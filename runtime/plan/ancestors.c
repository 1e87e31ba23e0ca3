/*
 * The host's directories above what is masked or protected. When one of them is renamed, the mount goes along, and its
 * path is open again (runtime/supervise/moves.c).
 *
 * Above a mask all of them count, for what appears in its place could be read wherever it lies. Above a read-only
 * protection only those count that lie in the writable tree: elsewhere nothing can be written anyway, and the tree as a
 * whole may be moved.
 */
#include <string.h>

#include "runtime/plan/path_set.h"
#include "runtime/plan/planner.h"

/* From the parent of host_path up; `top` itself is not taken. */
static void add_from(struct planner *planner, struct path_set *set, const char *host_path, const char *top)
{
	struct plan *plan = planner->plan;

	for (size_t size = strlen(host_path); size > 0;) {
		const char *directory;
		const char **slot;

		while (size > 0 && host_path[--size] != '/')
			;
		directory = size == 0 ? NULL : arena_strndup(planner->arena, host_path, size);
		if (directory == NULL || strcmp(directory, top) == 0 || !path_set_add(set, planner->arena, directory))
			return; /* those above are in, too */
		slot = arena_push(planner->arena, &plan->ancestors, &plan->n_ancestors);
		if (slot != NULL)
			*slot = directory;
	}
}

static void add_of(struct planner *planner, struct path_set *set, const struct node *node)
{
	const struct node *content = planner_content(planner, planner_nearest(planner, node->path, true));
	const char *slash = strrchr(node->path, '/');
	const char *parent =
		slash == node->path ? "/" : arena_strndup(planner->arena, node->path, (size_t)(slash - node->path));
	const char *host_parent = parent == NULL ? NULL : planner_host_path(planner, parent);

	if (host_parent == NULL)
		return; /* in a file system of our own */
	add_from(planner, set, planner_join(planner, host_parent, slash + 1),
		node->kind == NODE_PIN && content != NULL && content->kind == NODE_BIND ? content->source : "/");
}

/* What is to be masked when it appears has directories that may not be there either: the supervisor finds them. */
static bool is_late(const struct node *node)
{
	return node->kind == NODE_MASK && (node->flags & MOUNT_OPTIONAL) != 0;
}

static void add_late(struct planner *planner, const struct node *node)
{
	const char **slot = arena_push(planner->arena, &planner->plan->late, &planner->plan->n_late);

	if (slot != NULL)
		*slot = node->source;
}

/* Order: masks first, so that a walk up that meets what is in the set already may end there. */
int planner_ancestors(struct planner *planner, struct error *err)
{
	struct path_set set = {0};

	for (unsigned pins = 0; pins <= 1; pins++) {
		for (size_t i = 0; i < planner->n_nodes; i++) {
			const struct node *node = &planner->nodes[i];

			if ((node->flags & MOUNT_MONITOR) == 0 || (node->kind == NODE_PIN) != (pins == 1))
				continue;
			if (is_late(node))
				add_late(planner, node);
			else
				add_of(planner, &set, node);
		}
	}
	return arena_check(planner->arena, err);
}
