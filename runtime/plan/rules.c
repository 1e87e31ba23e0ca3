/*
 * The policy's paths on top of the base tree. Rules are taken from the shallowest path to the deepest, so that when one is
 * looked at, everything that can show through at its place is already known; on one path deny comes last and wins.
 *
 *   write    the host's directory, bound writable
 *   read     nothing where the host shows read-only anyway; bound where our own file system is, or below something denied;
 *            pinned read-only below a writable path
 *   protect  pinned read-only below a writable path; where it does not exist, guarded against being planted
 *   deny     masked; where it does not exist below a writable path, guarded
 *
 * Threat: inside a writable tree the command can rename any directory that is no mount point, and with it carry away what
 * is mounted below. Every directory between a writable root and a pin or mask below it is therefore bound onto itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/plan/planner.h"

enum rule_kind {
	RULE_SKELETON,
	RULE_TMPFS,
	RULE_BIND,
	RULE_WRITE,
	RULE_READ,
	RULE_PROTECT,
	RULE_DENY
};

struct rule {
	enum rule_kind kind;
	const char *path; /* canonical */
	const char *said;
	const char *source; /* RULE_BIND */
	uint64_t size_bytes;
	bool write, optional, secret, link;
	size_t depth, order;
};

struct rules {
	struct planner *planner;
	struct rule *list;
	size_t n;
	const struct policy_path *from; /* while globs are expanded */
	const char **homes;             /* every home there is */
	size_t n_homes;
	const char **wanted; /* paths that must show, for what is denied above them */
	size_t n_wanted;
};

static struct rule *add_rule(struct rules *rules, enum rule_kind kind, const char *path, const char *said)
{
	struct rule *rule = path == NULL ? NULL : arena_push(rules->planner->arena, &rules->list, &rules->n);

	if (rule == NULL)
		return NULL;
	rule->kind = kind;
	rule->path = path;
	rule->said = said;
	rule->depth = planner_depth(path);
	rule->order = rules->n;
	return rule;
}

static const enum rule_kind kind_of_access[] = {
	[ACCESS_READ] = RULE_READ,
	[ACCESS_WRITE] = RULE_WRITE,
	[ACCESS_DENY] = RULE_DENY,
	[ACCESS_PROTECT] = RULE_PROTECT,
};

static void add_path(struct planner *planner, const char *path, void *userdata)
{
	struct rules *rules = userdata;
	const struct policy_path *from = rules->from;
	bool exists = false;
	struct stat st;
	struct rule *rule;
	bool found;

	if (path == NULL)
		return;
	found = lstat(path, &st) == 0;
	if (from->secret && !found)
		return; /* most of the table, on most machines */
	rule = add_rule(rules, kind_of_access[from->access], planner_canonical(planner, path, &exists), from->path);
	if (rule == NULL)
		return;
	rule->optional = from->optional;
	rule->secret = from->secret;
	rule->link = found && S_ISLNK(st.st_mode);
}

static void add_home(struct rules *rules, const char *home)
{
	const char **slot;

	for (size_t i = 0; i < rules->n_homes; i++) {
		if (strcmp(rules->homes[i], home) == 0)
			return;
	}
	slot = arena_push(rules->planner->arena, &rules->homes, &rules->n_homes);
	if (slot != NULL)
		*slot = home;
}

static void find_home(struct planner *planner, const char *path, void *userdata)
{
	(void)planner;
	add_home(userdata, path);
}

static void find_homes(struct rules *rules)
{
	if (rules->planner->home != NULL)
		add_home(rules, rules->planner->home);
	add_home(rules, "/root");
	planner_glob(rules->planner, "/home/*", find_home, rules);
}

static void add_absolute(struct rules *rules, const char *path)
{
	if (path != NULL && rules->from->access == ACCESS_DENY && planner_has_glob(path))
		planner_glob(rules->planner, path, add_path, rules);
	else
		add_path(rules->planner, path, rules);
}

/* A "*" right behind the tilde stands for every home. */
static void add_policy_path(struct rules *rules, const struct policy_path *from)
{
	struct planner *planner = rules->planner;

	rules->from = from;
	if (!str_starts_with(from->path, "~*/")) {
		add_absolute(rules, planner_expand(planner, from->path));
		return;
	}
	for (size_t i = 0; i < rules->n_homes; i++)
		add_absolute(rules, planner_join(planner, rules->homes[i], from->path + 3));
}

static void add_binds(struct rules *rules)
{
	struct planner *planner = rules->planner;

	for (size_t i = 0; i < planner->policy->n_binds; i++) {
		const struct policy_bind *bind = &planner->policy->binds[i];
		const char *source = planner_expand(planner, bind->source);
		const char *target = planner_expand(planner, bind->target);
		bool exists = false;
		bool target_exists;
		struct rule *rule;

		if (source == NULL || target == NULL)
			continue;
		source = planner_canonical(planner, source, &exists);
		if (!exists) {
			diag_error(planner->diag, "filesystem.bind: %s: does not exist", bind->source);
			continue;
		}
		if (planner->policy->root != ROOT_DIRECTORY)
			target = planner_canonical(planner, target, &target_exists);
		rule = add_rule(rules, RULE_BIND, target, bind->target);
		if (rule == NULL)
			continue;
		rule->source = source;
		rule->write = bind->write;
	}
}

static void add_tmpfs(struct rules *rules)
{
	struct planner *planner = rules->planner;

	for (size_t i = 0; i < planner->policy->n_tmpfs; i++) {
		const struct policy_tmpfs *tmpfs = &planner->policy->tmpfs[i];
		const char *path = planner_expand(planner, tmpfs->path);
		bool exists = false;
		struct rule *rule;

		if (path == NULL)
			continue;
		if (planner->policy->root != ROOT_DIRECTORY)
			path = planner_canonical(planner, path, &exists);
		rule = add_rule(rules, RULE_TMPFS, path, tmpfs->path);
		if (rule != NULL)
			rule->size_bytes = tmpfs->size_bytes != LIMIT_NONE ? tmpfs->size_bytes
									   : planner->policy->limits.tmp_size_bytes;
	}
}

static bool is_wanted(const struct rule *rule)
{
	return rule->kind == RULE_READ || rule->kind == RULE_WRITE;
}

/* Started by root, the mapped uid has the rights of "others": the first directory on the way that does not let others
 * through gives way to a skeleton with nothing in it but what is wanted. */
static void open_way(struct rules *rules, const char *path)
{
	struct planner *planner = rules->planner;

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		const char *directory = arena_strndup(planner->arena, path, (size_t)(slash - path));
		struct stat st;

		if (directory == NULL || stat(directory, &st) < 0)
			return;
		if ((st.st_mode & S_IXOTH) != 0)
			continue;
		(void)add_rule(rules, RULE_SKELETON, directory, directory);
		return;
	}
}

static void open_ways(struct rules *rules)
{
	size_t n = rules->n;

	if (!rules->planner->plan->identity.mapped || rules->planner->policy->root != ROOT_HOST)
		return;
	for (size_t i = 0; i < n; i++) {
		if (is_wanted(&rules->list[i]))
			open_way(rules, rules->list[i].path);
	}
}

static int by_depth(const void *a, const void *b)
{
	const struct rule *x = a;
	const struct rule *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void guard(struct planner *planner, const char *path)
{
	const struct node *root = planner_nearest(planner, path, true);
	struct plan_guard *entry;

	while (root != NULL && root->kind == NODE_PIN)
		root = planner_nearest(planner, root->path, true);
	if (root == NULL || root->kind != NODE_BIND)
		return;
	entry = arena_push(planner->arena, &planner->plan->guards, &planner->plan->n_guards);
	if (entry == NULL)
		return;
	entry->root = root->source;
	entry->relative =
		arena_strdup(planner->arena, path + strlen(root->path) + (strcmp(root->path, "/") == 0 ? 0 : 1));
}

static void pin_ancestors(struct planner *planner, const char *path)
{
	const struct node *root = planner_nearest(planner, path, true);
	const char *slash;

	if (root == NULL || (root->flags & MOUNT_WRITE) == 0 || (root->kind != NODE_BIND && root->kind != NODE_PIN))
		return;
	slash = strcmp(root->path, "/") == 0 ? path : path + strlen(root->path);
	while ((slash = strchr(slash + 1, '/')) != NULL) {
		struct node *node =
			planner_add_node(planner, NODE_PIN, arena_strndup(planner->arena, path, (size_t)(slash - path)));

		if (node != NULL)
			node->flags = MOUNT_WRITE;
	}
}

/* Adds a pin or mask that the supervisor watches over. */
static void add_fence(struct planner *planner, enum node_kind kind, const char *path)
{
	struct node *node;

	pin_ancestors(planner, path);
	node = planner_add_node(planner, kind, path);
	if (node != NULL)
		node->flags = MOUNT_MONITOR;
}

static void set_type(struct node *node, const char *host_path)
{
	struct stat st;

	node->directory = stat(host_path, &st) < 0 || S_ISDIR(st.st_mode);
}

static bool others_may_use(const struct stat *st)
{
	unsigned needed = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

	return (st->st_mode & needed) == needed;
}

static void apply_write(struct planner *planner, const struct rule *rule)
{
	const struct plan_identity *identity = &planner->plan->identity;
	struct stat st;
	struct node *node;

	if (stat(rule->path, &st) < 0) {
		if (!rule->optional)
			diag_error(planner->diag, "filesystem.write: %s: %s", rule->said, strerror(errno));
		return;
	}
	node = planner_node_at(planner, rule->path);
	if (node != NULL && node->kind == NODE_BIND && (node->flags & MOUNT_WRITE) != 0)
		return; /* said twice */
	pin_ancestors(planner, rule->path);
	node = planner_add_node(planner, NODE_BIND, rule->path);
	if (node == NULL)
		return;
	node->source = rule->path;
	node->directory = S_ISDIR(st.st_mode);
	node->flags = MOUNT_WRITE;
	if (!identity->mapped)
		return;
	node->flags |= MOUNT_IDMAP;
	planner->plan->identity.idmap = true;
	if (st.st_uid != identity->workspace_uid)
		planner_warn(planner,
			"%s belongs to uid %u and not to the workspace's owner: the command cannot write to it",
			rule->said, st.st_uid);
}

static void apply_read(struct planner *planner, const struct rule *rule)
{
	const struct plan_identity *identity = &planner->plan->identity;
	const char *host_path = planner_host_path(planner, rule->path);
	struct stat st;
	struct node *node;
	bool closed;

	if (stat(rule->path, &st) < 0) {
		if (!rule->optional)
			planner_warn(planner, "filesystem.read: %s: skipped: %s", rule->said, strerror(errno));
		return;
	}
	if (host_path != NULL && planner_is_writable(planner, rule->path)) {
		add_fence(planner, NODE_PIN, rule->path);
		return;
	}
	closed = identity->mapped && !others_may_use(&st) && st.st_uid == identity->workspace_uid;
	if (host_path != NULL && !closed)
		return; /* it shows already, read-only */
	node = planner_add_node(planner, NODE_BIND, rule->path);
	if (node == NULL)
		return;
	node->source = rule->path;
	node->directory = S_ISDIR(st.st_mode);
	if (closed) {
		node->flags = MOUNT_IDMAP;
		planner->plan->identity.idmap = true;
	}
}

static void apply_protect(struct planner *planner, const struct rule *rule)
{
	const char *host_path = planner_host_path(planner, rule->path);
	struct stat st;

	if (rule->link)
		planner->link_protected = true;
	if (host_path == NULL || !planner_is_writable(planner, rule->path))
		return;
	if (lstat(host_path, &st) == 0)
		add_fence(planner, NODE_PIN, rule->path);
	else
		guard(planner, rule->path);
}

static const struct node *content_above(const struct planner *planner, const char *path)
{
	const struct node *node = planner_nearest(planner, path, true);

	while (node != NULL && node->kind == NODE_PIN)
		node = planner_nearest(planner, node->path, true);
	return node;
}

/* Whether "others" can get to path from the mount that shows it. */
static bool others_may_reach(struct planner *planner, const char *path, const struct node *from)
{
	const char *slash = strcmp(from->path, "/") == 0 ? path : path + strlen(from->path);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		const char *directory = arena_strndup(planner->arena, path, (size_t)(slash - path));
		const char *host_path = directory == NULL ? NULL : planner_host_path(planner, directory);
		struct stat st;

		if (host_path == NULL || stat(host_path, &st) < 0 || (st.st_mode & S_IXOTH) == 0)
			return false;
	}
	return true;
}

/* What the mapped uid cannot get to needs no mask, and could not be given one by it. Below an id-mapped bind it has the
 * rights of the owner. */
static bool is_reachable(struct planner *planner, const char *path)
{
	const struct node *from = content_above(planner, path);

	if (!planner->plan->identity.mapped || from == NULL || (from->flags & MOUNT_IDMAP) != 0)
		return true;
	return others_may_reach(planner, path, from);
}

/* A secret that the command has no right to read anyway needs no mask. */
static bool is_readable(struct planner *planner, const char *path, const char *host_path, const struct stat *st)
{
	const struct node *from = content_above(planner, path);

	if (!planner->plan->identity.mapped)
		return faccessat(AT_FDCWD, host_path, R_OK, AT_EACCESS) == 0;
	return others_may_use(st) || (from != NULL && (from->flags & MOUNT_IDMAP) != 0);
}

static bool wanted_below(const struct rules *rules, const char *path)
{
	for (size_t i = 0; i < rules->n_wanted; i++) {
		if (strcmp(rules->wanted[i], path) != 0 && planner_is_below(rules->wanted[i], path))
			return true;
	}
	return false;
}

static void find_wanted(struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++) {
		const char **slot;

		if (rules->list[i].kind == RULE_DENY || rules->list[i].kind == RULE_PROTECT ||
			rules->list[i].kind == RULE_SKELETON)
			continue;
		slot = arena_push(rules->planner->arena, &rules->wanted, &rules->n_wanted);
		if (slot != NULL)
			*slot = rules->list[i].path;
	}
}

static void apply_deny(struct planner *planner, const struct rules *rules, const struct rule *rule)
{
	const char *host_path = planner_host_path(planner, rule->path);
	struct stat st;

	if (host_path == NULL || !is_reachable(planner, rule->path))
		return; /* hidden already */
	if (lstat(host_path, &st) < 0) {
		if (!rule->secret && planner_is_writable(planner, rule->path))
			guard(planner, rule->path);
		return;
	}
	if (S_ISDIR(st.st_mode) && wanted_below(rules, rule->path)) {
		struct node *node;

		pin_ancestors(planner, rule->path);
		node = planner_add_node(planner, NODE_SKELETON, rule->path);
		if (node != NULL) {
			node->mode = 0111; /* passed through, not listed */
			node->seal = true;
			node->flags = MOUNT_MONITOR;
		}
		return;
	}
	if (!rule->secret || is_readable(planner, rule->path, host_path, &st))
		add_fence(planner, NODE_MASK, rule->path);
}

static void apply_rule(struct planner *planner, const struct rules *rules, const struct rule *rule)
{
	struct node *node = NULL;

	switch (rule->kind) {
	case RULE_SKELETON:
		node = planner_add_node(planner, NODE_SKELETON, rule->path);
		if (node != NULL)
			node->seal = true;
		break;
	case RULE_TMPFS:
		node = planner_add_node(planner, NODE_TMPFS, rule->path);
		if (node == NULL)
			break;
		node->size_bytes = rule->size_bytes == LIMIT_NONE ? 0 : rule->size_bytes;
		node->mode = 01777;
		node->flags = MOUNT_WRITE;
		break;
	case RULE_BIND:
		node = planner_add_node(planner, NODE_BIND, rule->path);
		if (node == NULL)
			break;
		node->source = rule->source;
		node->flags = rule->write ? MOUNT_WRITE : 0;
		if (rule->write && planner->plan->identity.mapped) {
			node->flags |= MOUNT_IDMAP;
			planner->plan->identity.idmap = true;
		}
		set_type(node, rule->source);
		break;
	case RULE_WRITE: apply_write(planner, rule); break;
	case RULE_READ: apply_read(planner, rule); break;
	case RULE_PROTECT: apply_protect(planner, rule); break;
	case RULE_DENY: apply_deny(planner, rules, rule); break;
	}
}

static void check_writes(const struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *write = &rules->list[i];

		for (size_t j = 0; write->kind == RULE_WRITE && j < rules->n; j++) {
			const struct rule *deny = &rules->list[j];

			if (deny->kind == RULE_DENY && !deny->secret && strcmp(write->path, deny->path) != 0 &&
				planner_is_below(write->path, deny->path))
				diag_error(rules->planner->diag, "filesystem.write: %s: lies inside %s, which is denied",
					write->said, deny->said);
		}
	}
}

/* The workspace shows whatever the policy says of it, if only to be read. */
static void add_workspace(struct rules *rules)
{
	const struct policy_path workspace = {.access = ACCESS_READ, .path = rules->planner->workspace};

	for (size_t i = 0; i < rules->n; i++) {
		if (rules->list[i].kind == RULE_WRITE && strcmp(rules->list[i].path, rules->planner->workspace) == 0)
			return;
	}
	rules->from = &workspace;
	add_path(rules->planner, workspace.path, rules);
}

int planner_rules(struct planner *planner, struct error *err)
{
	struct rules rules = {.planner = planner};

	find_homes(&rules);
	for (size_t i = 0; i < planner->policy->n_paths; i++)
		add_policy_path(&rules, &planner->policy->paths[i]);
	add_workspace(&rules);
	add_binds(&rules);
	add_tmpfs(&rules);
	open_ways(&rules);
	find_wanted(&rules);
	if (arena_check(planner->arena, err) < 0)
		return -1;
	check_writes(&rules);
	qsort(rules.list, rules.n, sizeof *rules.list, by_depth);
	for (size_t i = 0; i < rules.n; i++)
		apply_rule(planner, &rules, &rules.list[i]);
	return arena_check(planner->arena, err);
}
