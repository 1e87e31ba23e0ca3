/* The policy's paths as one ordered list. Internal to runtime/plan. */
#ifndef PLAN_RULES_H
#define PLAN_RULES_H

#include <limits.h>
#include <sys/stat.h>

#include "runtime/plan/listing.h"
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
	const char *path;  /* canonical */
	const char *given; /* before symlinks were resolved */
	const char *said;
	const char *source; /* RULE_BIND */
	uint64_t size_bytes;
	bool write, optional, secret;
	bool own; /* READ: shown to the command as its own, where the file system can */
	size_t depth, order;
};

struct home {
	const char *path;
	bool is_closed;                /* the command cannot get into it, so that nothing in it needs a mask */
	const struct listing *listing; /* of one that is not closed; NULL: no memory for it */
};

struct rules {
	struct planner *planner;
	struct rule *list;
	size_t n;
	const struct policy_path *from; /* while globs are expanded */
	struct home *homes;             /* every home there is */
	size_t n_homes;
	struct listings listings; /* for the table of secrets */
	char path[PATH_MAX];      /* of one of them */
	const char **wanted;      /* paths that must show, for what is denied above them */
	size_t n_wanted;
};

/* NULL for path == NULL, or where memory is out. The pointer is good until the next one is added. */
struct rule *rules_add(struct rules *rules, enum rule_kind kind, const char *path, const char *said);
/* Whether what is said of path, read or write, ends in write. */
bool rules_write(const struct rules *rules, const char *path);
/* What the workspace needs where it is a git checkout whose data is elsewhere. All the policy's paths are in. */
void rules_add_git(struct rules *rules);
/* rules_gitlinks.c: a checkout whose index leads host-side git on, and a `.git` that is protected already. */
void rules_add_git_place(struct rules *rules, const char *checkout, const char *directory, const char *common);
void rules_add_git_known(struct rules *rules, const char *git_file);
/* Protects the repositories that those indexes lead to. */
void rules_add_gitlinks(struct rules *rules);
/* When all rules are applied. */
void rules_settle_git(struct planner *planner);
/* Protects it and what `names` names in it, at any place. */
void rules_protect(struct rules *rules, const char *path);
void rules_protect_names(struct rules *rules, const char *directory, const char *const *names);
/* rules_sockets.c: warns of sockets in what the rules so far show. */
void rules_tell_sockets(const struct rules *rules);
/* Adds to the planner's nodes and guards what the rule asks for; all shallower ones were applied before. */
void rules_apply(struct planner *planner, const struct rules *rules, const struct rule *rule);

void rules_deny(struct planner *planner, const struct rules *rules, const struct rule *rule);

/* For rules_deny.c */

/* Binds the directories between the writable root and path onto themselves, so that none can be renamed inside. */
void rules_pin_ancestors(struct planner *planner, const char *path);
/* Adds a pin or mask that the supervisor watches over. */
void rules_fence(struct planner *planner, enum node_kind kind, const char *path);
/* Guards a name that does not exist, or pins what keeps it from existing. */
void rules_keep_absent(struct planner *planner, const char *path);
/* Whether it is there, and to stay. */
bool rules_is_there(struct planner *planner, const char *path, const char *host_path, struct stat *ret_st);
bool rules_others_may_use(const struct stat *st);

#endif
