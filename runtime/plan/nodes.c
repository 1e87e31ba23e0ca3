/*
 * The tree inside as a list of nodes, and from it the mount operations: parents before children, mount points made where
 * the parent is one of our own file systems, and everything that must not change sealed at the end.
 *
 * A target that does not exist in the host's tree cannot be created there. The deepest directory that does exist is then
 * replaced by a copy of itself: an empty tmpfs whose entries are bound back one by one, where new ones can be added.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/planner.h"

#define COPY_ENTRIES_MAX 1024
#define SKELETON_BYTES   (1u << 20)

/* The place of the last node at a path: position + 1, 0 where the slot is free. Never more than half full. */
struct node_index {
	size_t size;
	size_t *slots;
};

static size_t *find_slot(const struct planner *planner, const char *path, size_t length)
{
	const struct node_index *index = planner->index;
	size_t i = path_hash(path, length) & (index->size - 1);

	for (;; i = (i + 1) & (index->size - 1)) {
		const char *there = index->slots[i] == 0 ? NULL : planner->nodes[index->slots[i] - 1].path;

		if (there == NULL || (strncmp(there, path, length) == 0 && there[length] == '\0'))
			return &index->slots[i];
	}
}

/* Puts the i-th node among those at its path, which hang together from the last one down. */
static void link_node(struct planner *planner, size_t *slot, size_t i)
{
	struct node *node = &planner->nodes[i];
	size_t *at = slot;

	while (*at != 0 && planner->nodes[*at - 1].order > node->order)
		at = &planner->nodes[*at - 1].under;
	node->under = *at;
	*at = i + 1;
}

/* False where memory is out. */
static bool rebuild_index(struct planner *planner, size_t size)
{
	struct node_index *index = arena_alloc(planner->arena, sizeof *index);

	if (index == NULL)
		return false;
	index->size = size;
	index->slots = arena_alloc(planner->arena, size * sizeof *index->slots);
	if (index->slots == NULL)
		return false;
	planner->index = index;
	for (size_t i = 0; i < planner->n_nodes; i++)
		link_node(planner, find_slot(planner, planner->nodes[i].path, strlen(planner->nodes[i].path)), i);
	return true;
}

static struct node *add_node(struct planner *planner, enum node_kind kind, const char *path, size_t order)
{
	struct node *node;
	size_t *slot;

	if (path == NULL)
		return NULL;
	if ((planner->index == NULL || planner->n_nodes * 2 >= planner->index->size) &&
		!rebuild_index(planner, planner->index == NULL ? 256 : planner->index->size * 2))
		return NULL;
	slot = find_slot(planner, path, strlen(path));
	node = arena_push(planner->arena, &planner->nodes, &planner->n_nodes);
	if (node == NULL)
		return NULL;
	*node = (struct node){
		.kind = kind, .path = path, .directory = true, .mode = 0755, .depth = planner_depth(path), .order = order};
	link_node(planner, slot, planner->n_nodes - 1);
	return node;
}

struct node *planner_add_node(struct planner *planner, enum node_kind kind, const char *path)
{
	return add_node(planner, kind, path, planner->n_nodes + 1);
}

static struct node *node_at(const struct planner *planner, const char *path, size_t length)
{
	size_t at = planner->index == NULL ? 0 : *find_slot(planner, path, length);

	return at == 0 ? NULL : &planner->nodes[at - 1];
}

struct node *planner_node_at(const struct planner *planner, const char *path)
{
	return node_at(planner, path, strlen(path));
}

const struct node *planner_nearest(const struct planner *planner, const char *path, bool above)
{
	size_t length = strlen(path);
	const struct node *node = above ? NULL : node_at(planner, path, length);

	while (node == NULL && length > 1) {
		while (path[--length] != '/')
			;
		if (length == 0)
			length = 1;
		node = node_at(planner, path, length);
		if (length == 1)
			break;
	}
	return node;
}

const struct node *planner_content(const struct planner *planner, const struct node *node)
{
	while (node != NULL && node->kind == NODE_PIN)
		node = node->under != 0 ? &planner->nodes[node->under - 1] : planner_nearest(planner, node->path, true);
	return node;
}

static bool is_ours(const struct node *node)
{
	return node->kind != NODE_HOST && node->kind != NODE_BIND && node->kind != NODE_PIN;
}

/* What shows at path where `node` is what is mounted at or above it. */
static const char *host_path_from(struct planner *planner, const struct node *node, const char *path)
{
	node = planner_content(planner, node);
	if (node == NULL || is_ours(node))
		return NULL;
	if (node->kind == NODE_HOST || strcmp(node->source, node->path) == 0)
		return path;
	if (strcmp(path, node->path) == 0)
		return node->source;
	return arena_printf(planner->arena, "%s%s", strcmp(node->source, "/") == 0 ? "" : node->source,
		strcmp(node->path, "/") == 0 ? path : path + strlen(node->path));
}

const char *planner_host_path(struct planner *planner, const char *path)
{
	return host_path_from(planner, planner_nearest(planner, path, false), path);
}

bool planner_is_writable(const struct planner *planner, const char *path)
{
	const struct node *node = planner_nearest(planner, path, false);

	return node != NULL && (node->kind == NODE_BIND || node->kind == NODE_PIN) && (node->flags & MOUNT_WRITE) != 0;
}

static int by_depth(const void *a, const void *b)
{
	const struct node *x = a;
	const struct node *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Entries of a copied directory come before whatever else is planned at their paths. */
static void copy_entry(struct planner *planner, const char *directory, const char *host_directory, const char *name)
{
	const char *host_path = planner_join(planner, host_directory, name);
	char target[4096];
	struct stat st;
	struct node *node;
	ssize_t n;

	if (host_path == NULL || planner_lstat(planner, host_path, &st) < 0)
		return;
	node = add_node(
		planner, S_ISLNK(st.st_mode) ? NODE_SYMLINK : NODE_BIND, planner_join(planner, directory, name), 0);
	if (node == NULL)
		return;
	node->directory = S_ISDIR(st.st_mode);
	node->flags = MOUNT_OPTIONAL;
	node->source = host_path;
	if (node->kind != NODE_SYMLINK)
		return;
	n = readlink(host_path, target, sizeof target);
	node->source = arena_strndup(planner->arena, target, n < 0 ? 0 : (size_t)n);
}

/* A bind at the very place gives way to its copy; elsewhere a skeleton is put on top. */
static void replace_by_skeleton(struct planner *planner, const char *path)
{
	struct node *node = planner_node_at(planner, path);

	if (node == NULL || is_ours(node) || node->kind == NODE_PIN)
		node = planner_add_node(planner, NODE_SKELETON, path);
	if (node == NULL)
		return;
	node->kind = NODE_SKELETON;
	node->flags = 0;
	node->source = NULL;
	node->seal = true;
}

static int copy_directory(struct planner *planner, const char *path, struct error *err)
{
	const char *host_path = planner_host_path(planner, path);
	const struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	if (host_path == NULL)
		return error_set(err, ERROR_INTERNAL, "plan", "%s has no host directory", path);
	dir = opendir(host_path);
	if (dir == NULL)
		return error_set_errno(err, ERROR_POLICY_INVALID, errno, "opendir",
			"%s must be read to add a mount point in it", path);
	replace_by_skeleton(planner, path);
	while ((entry = readdir(dir)) != NULL && n <= COPY_ENTRIES_MAX) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && ++n <= COPY_ENTRIES_MAX)
			copy_entry(planner, path, host_path, entry->d_name);
	}
	(void)closedir(dir);
	if (n > COPY_ENTRIES_MAX)
		return error_set(err, ERROR_POLICY_INVALID, "plan",
			"%s has too many entries to add a mount point in it; make the directory", path);
	return arena_check(planner->arena, err);
}

/* Makes sure that the mount point at path will be there. */
static int provide_target(struct planner *planner, const char *path, struct error *err)
{
	const struct node *parent = planner_nearest(planner, path, true);
	char *existing = arena_strdup(planner->arena, path);

	if (existing == NULL)
		return error_no_memory(err);
	if (parent == NULL || is_ours(parent))
		return 0;                                 /* the root, or made in our own file system */
	while (strlen(existing) > strlen(parent->path)) { /* all that is between shows the parent's content */
		const char *host_path = host_path_from(planner, parent, existing);
		struct stat st;
		char *slash;

		if (host_path == NULL || lstat(host_path, &st) == 0)
			break;
		slash = strrchr(existing, '/');
		slash[slash == existing ? 1 : 0] = '\0';
	}
	if (strcmp(existing, path) == 0)
		return 0;
	if (planner_is_writable(planner, existing))
		return error_set(err, ERROR_POLICY_INVALID, "plan",
			"%s does not exist, and is not made in a writable tree of yours", path);
	return copy_directory(planner, existing, err);
}

static bool needs_target(const struct node *node)
{
	return node->kind != NODE_HOST && node->kind != NODE_PIN && node->kind != NODE_MASK &&
		node->kind != NODE_SYMLINK && strcmp(node->path, "/") != 0;
}

static int provide_targets(struct planner *planner, struct error *err)
{
	for (size_t i = 0; i < planner->n_nodes; i++) {
		if (needs_target(&planner->nodes[i]) && planner->nodes[i].order != 0 &&
			provide_target(planner, planner->nodes[i].path, err) < 0)
			return -1;
	}
	return 0;
}

static struct mount_op *add_op(struct planner *planner, enum mount_kind kind, const char *target)
{
	struct mount_plan *mounts = &planner->plan->mounts;
	struct mount_op *op = arena_push(planner->arena, &mounts->ops, &mounts->n_ops);

	if (op != NULL) {
		op->kind = kind;
		op->target = target;
	}
	if (kind != MOUNT_READONLY)
		(void)path_set_add(&planner->made, planner->arena, target);
	return op;
}

/* The directories from our own file system's root down to path, and path itself. */
static void make_target(struct planner *planner, const struct node *parent, const struct node *node)
{
	const char *at = strcmp(parent->path, "/") == 0 ? node->path : node->path + strlen(parent->path);

	while ((at = strchr(at + 1, '/')) != NULL) {
		const char *directory = arena_strndup(planner->arena, node->path, (size_t)(at - node->path));
		struct mount_op *op;

		if (directory == NULL || path_set_has(&planner->made, directory))
			continue;
		op = add_op(planner, MOUNT_DIRECTORY, directory);
		if (op != NULL)
			op->mode = 0755;
	}
	if (node->kind != NODE_SYMLINK && !path_set_has(&planner->made, node->path)) {
		struct mount_op *op = add_op(planner, node->directory ? MOUNT_DIRECTORY : MOUNT_FILE, node->path);

		if (op != NULL)
			op->mode = node->directory ? 0755 : 0444;
	}
}

static const enum mount_kind kinds[] = {
	[NODE_BIND] = MOUNT_BIND,
	[NODE_PIN] = MOUNT_PIN,
	[NODE_MASK] = MOUNT_MASK,
	[NODE_SKELETON] = MOUNT_TMPFS,
	[NODE_TMPFS] = MOUNT_TMPFS,
	[NODE_SCRATCH] = MOUNT_SCRATCH,
	[NODE_PROC] = MOUNT_PROC,
	[NODE_DEVPTS] = MOUNT_DEVPTS,
	[NODE_SYMLINK] = MOUNT_SYMLINK,
};

static void emit_node(struct planner *planner, const struct node *node)
{
	const struct node *parent = planner_nearest(planner, node->path, true);
	struct mount_op *op;
	struct stat st;

	if (node->kind == NODE_HOST || (node->kind == NODE_SKELETON && strcmp(node->path, "/") == 0))
		return; /* the root is there before the first operation */
	if (parent != NULL && is_ours(parent) && (needs_target(node) || node->kind == NODE_SYMLINK))
		make_target(planner, parent, node);
	op = add_op(planner, kinds[node->kind], node->path);
	if (op == NULL)
		return;
	op->flags = node->flags;
	if (planner->idmap_lost)
		op->flags &= ~(unsigned)(MOUNT_IDMAP | MOUNT_TRY_IDMAP);
	op->source = node->source;
	op->owner = node->owner;
	if (op->kind == MOUNT_BIND && (op->flags & (MOUNT_WRITE | MOUNT_IDMAP)) != 0 &&
		(op->flags & MOUNT_DEVICE) == 0 && planner_stat(planner, op->source, &st) == 0) {
		op->device = st.st_dev;
		op->inode = st.st_ino;
	}
	op->mode = node->mode;
	op->size_bytes = node->kind == NODE_SKELETON ? SKELETON_BYTES : node->size_bytes;
}

/* The scratch tmpfs is attached where its first user will cover it, as soon as that place is there. */
static void place_scratch(struct planner *planner)
{
	struct mount_plan *mounts = &planner->plan->mounts;

	for (size_t i = 0; i < mounts->n_ops; i++) {
		if (mounts->ops[i].kind == MOUNT_SCRATCH) {
			mounts->scratch_at = i;
			mounts->scratch_target = mounts->ops[i].target;
			return;
		}
	}
}

int planner_emit_mounts(struct planner *planner, struct error *err)
{
	struct mount_plan *mounts = &planner->plan->mounts;

	if (provide_targets(planner, err) < 0)
		return -1;
	qsort(planner->nodes, planner->n_nodes, sizeof *planner->nodes, by_depth);
	if (!rebuild_index(planner, planner->index->size))
		return error_no_memory(err);
	mounts->host_root = planner->nodes[0].kind == NODE_HOST && (planner->n_nodes < 2 || planner->nodes[1].depth > 0);
	for (size_t i = 0; i < planner->n_nodes; i++)
		emit_node(planner, &planner->nodes[i]);
	for (size_t i = 0; i < planner->n_nodes; i++) {
		if (planner->nodes[i].seal)
			(void)add_op(planner, MOUNT_READONLY, planner->nodes[i].path);
	}
	place_scratch(planner);
	return planner_ancestors(planner, err);
}
