/*
 * What is denied: masked; where it does not exist, guarded below a writable path, and masked when it appears elsewhere.
 * A directory in which something is wanted gives way to an empty one that can be passed but not listed. What the
 * command could not read anyway is left alone: each mount costs, and some could not be made.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/rules.h"

/* Whether "others" can get to path from the mount that shows it, or could where a part of it does not exist yet. */
static bool others_may_reach(struct planner *planner, const char *path, const struct node *from)
{
	const char *slash = strcmp(from->path, "/") == 0 ? path : path + strlen(from->path);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		const char *directory = arena_strndup(planner->arena, path, (size_t)(slash - path));
		const char *host_path = directory == NULL ? NULL : planner_host_path(planner, directory);
		struct stat st;

		if (host_path == NULL)
			return false;
		if (planner_stat(planner, host_path, &st) < 0)
			return errno == ENOENT;
		if ((st.st_mode & S_IXOTH) == 0)
			return false;
	}
	return true;
}

/* What the mapped uid cannot get to needs no mask, and could not be given one by it. Below an id-mapped bind it has the
 * rights of the owner. */
static bool is_reachable(struct planner *planner, const char *path)
{
	const struct node *from = planner_content(planner, planner_nearest(planner, path, true));

	if (!planner->plan->identity.mapped || from == NULL || (from->flags & MOUNT_IDMAP) != 0)
		return true;
	return others_may_reach(planner, path, from);
}

/* A secret that the command has no right to read anyway needs no mask. */
static bool is_readable(struct planner *planner, const char *path, const char *host_path, const struct stat *st)
{
	const struct node *from = planner_content(planner, planner_nearest(planner, path, false));

	if (!planner->plan->identity.mapped)
		return faccessat(AT_FDCWD, host_path, R_OK, AT_EACCESS) == 0;
	return rules_others_may_use(st) || (from != NULL && (from->flags & MOUNT_IDMAP) != 0);
}

static bool wanted_below(const struct rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->n_wanted; i++) {
		if (strcmp(rules->wanted[i], path) != 0 && planner_is_below(rules->wanted[i], path))
			return true;
	}
	return false;
}

/* A proc of its own shows what is global all the same. A process's own files are others there than here. */
static void deny_in_proc(struct planner *planner, const struct rule *rule)
{
	const char *name = rule->path + strlen("/proc");
	struct node *node;

	if (name[0] == '\0' || (name[1] >= '0' && name[1] <= '9')) {
		diag_error(planner->diag, "filesystem.deny: %s: only what is global in /proc can be denied", rule->said);
		return;
	}
	if (access(rule->path, F_OK) != 0)
		return;
	node = planner_add_node(planner, NODE_MASK, rule->path);
	if (node != NULL)
		node->flags = MOUNT_OPTIONAL;
}

static bool is_in_proc(const struct planner *planner, const char *path)
{
	const struct node *proc = planner_node_at(planner, "/proc");

	return planner_is_below(path, "/proc") && proc != NULL && proc->kind == NODE_PROC;
}

/* What the command has of its own hides the host's, and can itself be hidden where nothing else is mounted in it. */
static void deny_private(struct planner *planner, const struct rules *rules, const struct rule *rule)
{
	if (planner_node_at(planner, rule->path) == NULL || rule->secret)
		return;
	if (wanted_below(rules, rule->path)) {
		diag_error(planner->diag,
			"filesystem.deny: %s: is private to the command, and what is wanted lies in it", rule->said);
		return;
	}
	for (size_t i = 0; i < planner->n_nodes; i++) {
		const char *path = planner->nodes[i].path;

		if (strcmp(path, rule->path) != 0 && planner_is_below(path, rule->path)) {
			diag_error(planner->diag,
				"filesystem.deny: %s: is private to the command, and %s in it is needed", rule->said,
				path);
			return;
		}
	}
	(void)planner_add_node(planner, NODE_MASK, rule->path);
}

/* What cannot be made from inside the host may still make; then the supervisor masks it. */
static void mask_later(struct planner *planner, const char *path, const char *host_path)
{
	struct node *node = planner_add_node(planner, NODE_MASK, path);

	if (node == NULL)
		return;
	node->source = host_path;
	node->flags = MOUNT_MONITOR | MOUNT_OPTIONAL;
}

void rules_deny(struct planner *planner, const struct rules *rules, const struct rule *rule)
{
	const char *host_path = planner_host_path(planner, rule->path);
	struct stat st;

	if (is_in_proc(planner, rule->path)) {
		deny_in_proc(planner, rule);
		return;
	}
	if (rule->secret && strcmp(rule->path, planner->workspace) == 0)
		return; /* whoever takes a secret place as the workspace wants it to show */
	if (host_path == NULL) {
		deny_private(planner, rules, rule);
		return;
	}
	if (!is_reachable(planner, rule->path))
		return; /* hidden already */
	if (rule->secret ? planner_lstat(planner, host_path, &st) < 0
			 : !rules_is_there(planner, rule->path, host_path, &st)) {
		if (!rule->secret && planner_is_writable(planner, rule->path))
			rules_keep_absent(planner, rule->path);
		else if (!rule->secret)
			mask_later(planner, rule->path, host_path);
		return;
	}
	if (S_ISDIR(st.st_mode) && wanted_below(rules, rule->path)) {
		struct node *node;

		rules_pin_ancestors(planner, rule->path);
		node = planner_add_node(planner, NODE_SKELETON, rule->path);
		if (node != NULL) {
			node->mode = 0111; /* passed through, not listed */
			node->seal = true;
			node->flags = MOUNT_MONITOR;
		}
		return;
	}
	if (!rule->secret || is_readable(planner, rule->path, host_path, &st))
		rules_fence(planner, NODE_MASK, rule->path);
}
