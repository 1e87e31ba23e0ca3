/* What the parts of planning share while a plan is made. Internal to runtime/plan. */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "runtime/plan/look.h"
#include "runtime/plan/path_set.h"
#include "runtime/plan/plan.h"

/* What stands at a path inside. Several nodes may share a path: they are applied in the order in which they were added. */
enum node_kind {
	NODE_HOST,     /* host_root only: the tree as it is; no operation */
	NODE_BIND,     /* source, a host path */
	NODE_PIN,      /* what is there already, bound onto itself */
	NODE_MASK,     /* unreadable */
	NODE_SKELETON, /* an empty tmpfs holding only what is planned below it */
	NODE_TMPFS,
	NODE_SCRATCH, /* source: a name in the scratch tmpfs */
	NODE_PROC,
	NODE_DEVPTS,
	NODE_SYMLINK, /* to source */
};

struct node {
	enum node_kind kind;
	const char *path;
	const char *source;
	unsigned flags; /* MOUNT_* */
	size_t owner;   /* as of mount_op */
	uint64_t size_bytes;
	unsigned mode;
	bool directory;
	bool seal; /* made read-only when everything below it stands */
	size_t depth, order;
	size_t under; /* the node before it at the same path: position + 1, 0 where it is the first */
};

struct planner {
	const struct policy *policy;
	const struct host *host;
	const struct command *command;
	struct diag *diag;
	size_t diag_before; /* entries that were there already: the policy's own */
	struct plan *plan;
	struct arena *arena;
	const char *workspace; /* resolved */
	const char *home;      /* the caller's, resolved; NULL */
	uid_t outer_uid;       /* the host uid when it is known: the caller's own, unless mapped */
	struct node *nodes;
	size_t n_nodes;
	struct node_index *index;  /* nodes by path */
	struct path_set made;      /* what the operations so far have made */
	struct path_set git_known; /* as plan->git_known */
	struct looks looks;
	bool keep_reflogs;        /* git cannot shorten the reflogs of all worktrees inside */
	bool globs_cut;           /* the bound on entries looked at was met */
	bool idmap_lost;          /* best-effort where no mount can be id-mapped: the mounts are as they are */
	bool more_shown;          /* the policy shows more of the host than the root has, and the workspace */
	const char *socket_shown; /* a socket in that, NULL where none was found */
	bool link_protected;      /* a protected name is a symlink, which cannot be pinned */
	uint64_t claims_until_ns; /* until when names that others claim are waited for; 0: none was met */
};

/* paths.c: all return strings of the arena, NULL where memory is out or as said. */

/* "." and relative: workspace; "~/": home. No "//", ".", ".."; NULL with a diag error for a ".." that climbs above the
 * root or a "~/" without a home. */
const char *planner_expand(struct planner *planner, const char *said);
/* The same without a look at the file tree: what it seems to name. */
const char *planner_expand_text(struct planner *planner, const char *said);
/* As lstat(2) and stat(2), but each path is asked for once in a plan (look.h). */
int planner_lstat(struct planner *planner, const char *path, struct stat *ret_st);
int planner_stat(struct planner *planner, const char *path, struct stat *ret_st);
/* realpath of the longest existing part, the rest appended. *ret_exists tells whether all of it exists. */
const char *planner_canonical(struct planner *planner, const char *path, bool *ret_exists);
bool planner_is_below(const char *path, const char *ancestor); /* below or the same */
size_t planner_depth(const char *path);
const char *planner_join(struct planner *planner, const char *directory, const char *name);
/* Where the first component with a pattern in it begins; the length of the path where none has. */
size_t planner_pattern_at(const char *path);
/* Calls fn for each existing match of a pattern below a directory, whose own characters stand for themselves; looks at
 * no more than a fixed number of entries. */
void planner_glob(struct planner *planner, const char *directory, const char *pattern,
	void (*fn)(struct planner *, const char *path, void *userdata), void *userdata);

/* nodes.c */

struct node *planner_add_node(struct planner *planner, enum node_kind kind, const char *path);
/* The last added node at exactly this path, or NULL. The pointer is good until the next one is added. */
struct node *planner_node_at(const struct planner *planner, const char *path);
/* The nearest node at or above path (strictly above where `above`), the last added where several share a path. */
const struct node *planner_nearest(const struct planner *planner, const char *path, bool above);
/* The node whose content shows at a node, which a pin has from the one below it, at its path or above; NULL for NULL. */
const struct node *planner_content(const struct planner *planner, const struct node *node);
/* The host path whose content shows at path, NULL where it is one of our own file systems. */
const char *planner_host_path(struct planner *planner, const char *path);
bool planner_is_writable(const struct planner *planner, const char *path);
/* Nodes -> plan->mounts. */
must_check int planner_emit_mounts(struct planner *planner, struct error *err);

/* ancestors.c: when all mounts are known -> plan->ancestors. */
must_check int planner_ancestors(struct planner *planner, struct error *err);

/* uid_base.c: from PINFOLD_UID_BASE, where it is set. */
must_check int planner_uid_base(uid_t *ret_base, struct error *err);

/* base_tree.c: root, /dev, /proc, /run, /tmp, /dev/shm, identity files. */
must_check int planner_base_tree(struct planner *planner, struct error *err);
/* rules.c: the policy's paths, binds and tmpfs on top of it. */
must_check int planner_rules(struct planner *planner, struct error *err);
/* fence.c: plan->landlock and its row. After the namespaces and mounts are settled. */
void planner_fence(struct planner *planner);
/* environment.c, limits.c, features.c, requirements.c */
must_check int planner_environment(struct planner *planner, struct error *err);
must_check int planner_limits(struct planner *planner, struct error *err);
must_check int planner_features(struct planner *planner, struct error *err);
must_check int planner_requirements(struct planner *planner, struct error *err);
/* features_none.c: the rows of the backend none */
void planner_features_none(struct planner *planner);

/* Whether the run's group is held by a controller: by one of the FACT_CGROUP_* that name one. */
bool planner_has_controller(const struct planner *planner, enum host_fact controller);
struct enforcement_row *planner_add_row(struct planner *planner, const char *name, bool limit);
void planner_row_lacks(struct planner *planner, struct enforcement_row *row, enum host_fact fact);
void planner_warn(struct planner *planner, const char *fmt, ...) printf_like(2, 3);

#endif
