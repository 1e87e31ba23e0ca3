/*
 * The policy's paths on top of the base tree. Rules are taken from the shallowest path to the deepest, so that when one is
 * looked at, everything that can show through at its place is already known; on one path deny comes last and wins.
 *
 *   write    the host's directory, bound writable
 *   read     nothing where the host shows read-only anyway; bound where our own file system is, or below something denied;
 *            pinned read-only below a writable path
 *   protect  pinned read-only below a writable path; where it does not exist, guarded against being planted
 *   deny     see rules_deny.c
 *
 * Threat: inside a writable tree the command can rename any directory that is no mount point, and with it carry away what
 * is mounted below. Every directory between a writable root and a pin or mask below it is therefore bound onto itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "base/name_claim.h"
#include "runtime/plan/rules.h"

#define LINKS_MAX 8
#define CLAIMS_NS NS_PER_S

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

	if (root == NULL || root->kind != NODE_BIND || planner_stat(planner, root->source, &st) < 0)
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
 * gone in a moment. To bind it would be to lose it; it is waited for. */
static bool is_kept_absent(struct planner *planner, const char *path)
{
	const struct node *root = planner_content(planner, planner_nearest(planner, path, true));
	cleanup_close int fd = -1;

	if (root == NULL || root->kind != NODE_BIND || (root->flags & MOUNT_WRITE) == 0)
		return false;
	fd = open(root->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && name_is_claimed(fd, below(root, path));
}

/* Threat: anybody who can read a directory can claim names in it, those of files that were always there, too. Who
 * really keeps a name absent removes it within milliseconds: so all of a plan's names together are waited for so long
 * and no longer, and what stands then is there to stay, whoever claims it. */
static bool may_wait(struct planner *planner)
{
	const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};

	if (planner->claims_until_ns == 0)
		planner->claims_until_ns = monotime_after_ns(CLAIMS_NS);
	if (monotime_ns() >= planner->claims_until_ns)
		return false;
	(void)nanosleep(&pause, NULL);
	return true;
}

/* Order: a run that ends removes what was planted, and then takes its claim back. So a name is there to stay only if it
 * is still there after nobody was found to claim it. */
bool rules_is_there(struct planner *planner, const char *path, const char *host_path, struct stat *ret_st)
{
	while (lstat(host_path, ret_st) == 0) {
		if (!is_kept_absent(planner, path))
			return lstat(host_path, ret_st) == 0;
		if (!may_wait(planner))
			return true;
	}
	return false;
}

void rules_pin_ancestors(struct planner *planner, const char *path)
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

/* Threat: a mount hides one name of a file. An archive or an earlier command may have given it another one. */
static void tell_other_names(struct planner *planner, enum node_kind kind, const char *path)
{
	const char *host_path = planner_host_path(planner, path);
	struct stat st;

	if (host_path != NULL && planner_lstat(planner, host_path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1)
		planner_warn(planner,
			"%s is one of %ju names of the same file (hard links): under the others it is not %s", path,
			(uintmax_t)st.st_nlink, kind == NODE_MASK ? "hidden" : "protected");
}

void rules_fence(struct planner *planner, enum node_kind kind, const char *path)
{
	struct node *node;

	tell_other_names(planner, kind, path);
	rules_pin_ancestors(planner, path);
	node = planner_add_node(planner, kind, path);
	if (node != NULL)
		node->flags = MOUNT_MONITOR;
}

bool rules_others_may_use(const struct stat *st)
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
	rules_pin_ancestors(planner, rule->path);
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

/* What the caller could read and the mapped uid could not. */
static bool is_closed(const struct planner *planner, const struct stat *st)
{
	return planner->plan->identity.mapped && !rules_others_may_use(st);
}

/* The place of an owner, which the launch makes an id map for. */
static size_t owner_of(struct planner *planner, const struct stat *st)
{
	struct plan_identity *identity = &planner->plan->identity;
	struct plan_owner *owner;

	if (st->st_uid == identity->workspace_uid && st->st_gid == identity->workspace_gid)
		return 0;
	for (size_t i = 0; i < identity->n_owners; i++) {
		if (identity->owners[i].uid == st->st_uid && identity->owners[i].gid == st->st_gid)
			return i + 1;
	}
	owner = arena_push(planner->arena, &identity->owners, &identity->n_owners);
	if (owner != NULL)
		*owner = (struct plan_owner){st->st_uid, st->st_gid};
	return identity->n_owners;
}

/* A private tree that is to be read is shown as the command's own, and stays read-only. */
static void open_to_command(struct planner *planner, struct node *node, const struct stat *st)
{
	node->flags = MOUNT_IDMAP;
	node->owner = owner_of(planner, st);
	planner->plan->identity.idmap = true;
	planner->plan->identity.idmap_required = true;
}

static void apply_bind(struct planner *planner, const struct rule *rule)
{
	struct node *node = planner_add_node(planner, NODE_BIND, rule->path);
	struct stat st;
	bool exists;

	if (node == NULL)
		return;
	node->source = rule->source;
	node->flags = rule->write ? MOUNT_WRITE : 0;
	exists = stat(rule->source, &st) == 0;
	node->directory = !exists || S_ISDIR(st.st_mode);
	if (rule->write && planner->plan->identity.mapped) {
		node->flags |= MOUNT_IDMAP;
		planner->plan->identity.idmap = true;
		planner->plan->identity.idmap_required = true;
	} else if (!rule->write && exists && is_closed(planner, &st)) {
		open_to_command(planner, node, &st);
	}
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
		rules_fence(planner, NODE_PIN, rule->path);
		return;
	}
	closed = is_closed(planner, &st);
	own = identity->mapped && (rule->own || strcmp(rule->path, planner->workspace) == 0);
	if (host_path != NULL && strcmp(host_path, rule->path) == 0 && !closed && !own)
		return; /* it shows already, read-only */
	node = planner_add_node(planner, NODE_BIND, rule->path);
	if (node == NULL)
		return;
	node->source = rule->path;
	node->directory = S_ISDIR(st.st_mode);
	if (!closed && !own)
		return;
	if (closed) {
		open_to_command(planner, node, &st);
		return;
	}
	node->flags = MOUNT_IDMAP | MOUNT_TRY_IDMAP;
	planner->plan->identity.idmap = true;
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

void rules_keep_absent(struct planner *planner, const char *path)
{
	const struct node *root = content_above(planner, path);
	const char *blocking = root == NULL ? NULL : blocking_ancestor(planner, path, root->path);

	while (blocking != NULL && is_kept_absent(planner, path) && may_wait(planner))
		blocking = blocking_ancestor(planner, path, root->path);
	if (blocking == NULL)
		guard(planner, path, NULL);
	else if (planner_node_at(planner, blocking) == NULL)
		rules_fence(planner, NODE_PIN, blocking);
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
	if (rules_is_there(planner, path, host_path, &st))
		rules_fence(planner, NODE_PIN, path);
	else
		rules_keep_absent(planner, path);
}

static void apply_protect(struct planner *planner, const struct rule *rule)
{
	protect(planner, rule->given, rule->path, LINKS_MAX);
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
	case RULE_BIND: apply_bind(planner, rule); break;
	case RULE_WRITE:
		apply_write(planner, rule);
		link_given_name(planner, rule);
		break;
	case RULE_READ:
		apply_read(planner, rule);
		link_given_name(planner, rule);
		break;
	case RULE_PROTECT: apply_protect(planner, rule); break;
	case RULE_DENY: rules_deny(planner, rules, rule); break;
	}
}
