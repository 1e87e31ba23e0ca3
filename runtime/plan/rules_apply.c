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
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/name_claim.h"
#include "runtime/plan/rules.h"

#define LINKS_MAX 8

/* The part of path below a node. */
static const char *below(const struct node *root, const char *path)
{
	return path + strlen(root->path) + (strcmp(root->path, "/") == 0 ? 0 : 1);
}

/* link: what the symlink at path says; NULL: nothing is to be there. */
static void guard(struct planner *planner, const char *path, const char *link)
{
	const struct node *root = planner_content(planner, planner_nearest(planner, path, true));
	struct plan_guard *entry;
	struct stat st;

	if (root == NULL || root->kind != NODE_BIND || stat(root->source, &st) < 0)
		return;
	entry = arena_push(planner->arena, &planner->plan->guards, &planner->plan->n_guards);
	if (entry == NULL)
		return;
	entry->root = root->source;
	entry->link = link;
	entry->device = st.st_dev;
	entry->inode = st.st_ino;
	entry->relative = arena_strdup(planner->arena, below(root, path));
}

/* Race: what stands at a name that another run in the same workspace keeps absent was planted just now, and will be
 * gone in a moment. To bind it would be to lose it; it is guarded like an absent one, and the guard waits. */
static bool is_kept_absent(struct planner *planner, const char *path)
{
	const struct node *root = planner_content(planner, planner_nearest(planner, path, true));
	cleanup_close int fd = -1;

	if (root == NULL || root->kind != NODE_BIND || (root->flags & MOUNT_WRITE) == 0)
		return false;
	fd = open(root->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && name_is_claimed(fd, below(root, path));
}

/* Order: a run that ends removes what was planted, and then takes its claim back. So a name is there to stay only if it
 * is still there after nobody was found to claim it. */
static bool is_there(struct planner *planner, const char *path, const char *host_path, struct stat *ret_st)
{
	return lstat(host_path, ret_st) == 0 && !is_kept_absent(planner, path) && lstat(host_path, ret_st) == 0;
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

/* In a tree of our own a path that leads through a symlink on the host needs that link to be found under its given name. */
static void link_given_name(struct planner *planner, const struct rule *rule)
{
	const struct node *above = rule->given == NULL ? NULL : planner_nearest(planner, rule->given, true);
	struct node *node;

	if (above == NULL || above->kind == NODE_SYMLINK)
		return; /* the link is there, further up */

	if (strcmp(rule->given, rule->path) == 0 || planner_host_path(planner, rule->given) != NULL ||
		planner_node_at(planner, rule->given) != NULL)
		return;
	node = planner_add_node(planner, NODE_SYMLINK, rule->given);
	if (node != NULL)
		node->source = rule->path;
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
	planner->plan->identity.idmap_required = true;
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
	bool own;

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
	own = identity->mapped && (rule->own || strcmp(rule->path, planner->workspace) == 0);
	if (host_path != NULL && !closed && !own)
		return; /* it shows already, read-only */
	node = planner_add_node(planner, NODE_BIND, rule->path);
	if (node == NULL)
		return;
	node->source = rule->path;
	node->directory = S_ISDIR(st.st_mode);
	if (!closed && !own)
		return;
	node->flags = closed ? MOUNT_IDMAP : MOUNT_IDMAP | MOUNT_TRY_IDMAP;
	planner->plan->identity.idmap = true;
	planner->plan->identity.idmap_required |= closed;
}

static const struct node *content_above(const struct planner *planner, const char *path)
{
	return planner_content(planner, planner_nearest(planner, path, true));
}

/* The part of a protected path that exists and is no directory, or NULL: what is below it cannot exist as long as it
 * stays what it is (a ".git" file, say), so it is what must stay. */
static const char *blocking_ancestor(struct planner *planner, const char *path, const char *root)
{
	const char *slash = strcmp(root, "/") == 0 ? path : path + strlen(root);

	while ((slash = strchr(slash + 1, '/')) != NULL) {
		const char *ancestor = arena_strndup(planner->arena, path, (size_t)(slash - path));
		const char *host_path = ancestor == NULL ? NULL : planner_host_path(planner, ancestor);
		struct stat st;

		if (host_path == NULL || lstat(host_path, &st) < 0)
			return NULL;
		if (!S_ISDIR(st.st_mode))
			return ancestor;
	}
	return NULL;
}

/* Guards a name that does not exist, or pins what keeps it from existing. */
static void keep_absent(struct planner *planner, const char *path)
{
	const struct node *root = content_above(planner, path);
	const char *blocking = root == NULL ? NULL : blocking_ancestor(planner, path, root->path);

	if (blocking == NULL || is_kept_absent(planner, path))
		guard(planner, path, NULL);
	else if (planner_node_at(planner, blocking) == NULL)
		add_fence(planner, NODE_PIN, blocking);
}

/* The first symlink on the way to `given` that lies in a writable directory, as a canonical path, and what of `given`
 * comes behind it; NULL where none does. It can be replaced, and no mount can hold it. */
static const char *writable_link(struct planner *planner, const char *given, const char **ret_rest)
{
	for (const char *slash = strchr(given + 1, '/');; slash = strchr(slash + 1, '/')) {
		const char *part = slash == NULL ? given : arena_strndup(planner->arena, given, (size_t)(slash - given));
		const char *last = part == NULL ? NULL : strrchr(part, '/');
		bool exists = false;
		struct stat st;

		if (last == NULL || lstat(part, &st) < 0)
			return NULL;
		if (S_ISLNK(st.st_mode)) {
			const char *directory =
				last == part ? "/" : arena_strndup(planner->arena, part, (size_t)(last - part));

			directory = directory == NULL ? NULL : planner_canonical(planner, directory, &exists);
			if (directory != NULL && planner_is_writable(planner, directory)) {
				*ret_rest = slash == NULL ? "" : slash;
				return planner_join(planner, directory, last + 1);
			}
		}
		if (slash == NULL)
			return NULL;
	}
}

static void protect(struct planner *planner, const char *given, const char *path, unsigned links_left);

/* The link is to stay, and what it leads to is protected under its own name. */
static void protect_link(struct planner *planner, const char *link, const char *rest, unsigned links_left)
{
	int directory_size = (int)(strrchr(link, '/') - link);
	char target[PATH_MAX];
	bool exists = false;
	const char *next;
	ssize_t n = readlink(link, target, sizeof target - 1);

	if (n < 0 || links_left == 0) {
		planner->link_protected = true;
		return;
	}
	target[n] = '\0';
	guard(planner, link, arena_strdup(planner->arena, target));
	next = target[0] == '/' ? arena_printf(planner->arena, "%s%s", target, rest)
				: arena_printf(planner->arena, "%.*s/%s%s", directory_size, link, target, rest);
	next = next == NULL ? NULL : planner_expand(planner, next);
	if (next != NULL)
		protect(planner, next, planner_canonical(planner, next, &exists), links_left - 1);
}

static void protect(struct planner *planner, const char *given, const char *path, unsigned links_left)
{
	const char *rest = NULL;
	const char *link = given == NULL ? NULL : writable_link(planner, given, &rest);
	const char *host_path = path == NULL ? NULL : planner_host_path(planner, path);
	struct stat st;

	if (link != NULL) {
		protect_link(planner, link, rest, links_left);
		return;
	}
	if (host_path == NULL || !planner_is_writable(planner, path))
		return;
	if (is_there(planner, path, host_path, &st))
		add_fence(planner, NODE_PIN, path);
	else
		keep_absent(planner, path);
}

static void apply_protect(struct planner *planner, const struct rule *rule)
{
	protect(planner, rule->given, rule->path, LINKS_MAX);
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
	const struct node *from = planner_content(planner, planner_nearest(planner, path, false));

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

static void apply_deny(struct planner *planner, const struct rules *rules, const struct rule *rule)
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
	if (rule->secret ? lstat(host_path, &st) < 0 : !is_there(planner, rule->path, host_path, &st)) {
		if (!rule->secret && planner_is_writable(planner, rule->path))
			keep_absent(planner, rule->path);
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

void rules_apply(struct planner *planner, const struct rules *rules, const struct rule *rule)
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
			planner->plan->identity.idmap_required = true;
		}
		set_type(node, rule->source);
		break;
	case RULE_WRITE:
		apply_write(planner, rule);
		link_given_name(planner, rule);
		break;
	case RULE_READ:
		apply_read(planner, rule);
		link_given_name(planner, rule);
		break;
	case RULE_PROTECT: apply_protect(planner, rule); break;
	case RULE_DENY: apply_deny(planner, rules, rule); break;
	}
}
