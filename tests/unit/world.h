/*
 * What the tests of the plan share: a small made-up file tree, the fake hosts, and planning on them. In the texts of
 * policies '@' stands for the directory of the tree:
 *
 *     @/home   the caller's home, with .ssh/id_ed25519
 *     @/ws     the workspace: README .env src/main.c sub/.env sub/deep/file secrets/key.pem secrets/open/note
 *              .git/{HEAD,config,hooks/} link -> src, away -> ../outside/data
 *     @/outside  log data/file
 *     @/rootfs  a root directory of another system
 */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <limits.h>

#include "runtime/host/host.h"
#include "runtime/plan/plan.h"
#include "runtime/policy/document.h"

struct world {
	char root[224]; /* without symlinks */
	char ws[256], home[256];
};

/* Makes the tree in a directory of its own below `parent`; undone by world_done. Ends the test on failure. */
void world_init(struct world *world, const char *parent);
void world_done(struct world *world);
/* The text with the tree's directory for each '@'; to be freed. */
char *world_text(const struct world *world, const char *text);
/* More of the tree: the parent directories are made, too. Ends the test on failure. */
void world_add_directory(const struct world *world, const char *path, unsigned mode);
void world_add_file(const struct world *world, const char *path, unsigned mode);
void world_add_link(const struct world *world, const char *path, const char *target);

/* A whole file; to be freed. Ends the test on failure. */
char *world_read_file(const char *path);
/* A host of tests/hosts, by the name of its file without ".json". */
struct host world_host(const char *name);
/* The names of all of them, the last one NULL. */
extern const char *const world_hosts[];

/* A policy planned on a host; plan is NULL where it was refused, with the reason in err and diag. */
struct planned {
	struct policy_document *document;
	const struct policy *policy;
	struct plan *plan;
	struct diag diag;
	struct error err;
};

#define cleanup_planned __attribute__((cleanup(planned_done)))
/* policy: a text, or a built-in's name. The command is /bin/true in `workspace` (NULL: @/ws). */
struct planned world_plan_at(
	const struct world *world, const struct host *host, const char *policy, const char *workspace);
struct planned world_plan(const struct world *world, const char *host, const char *policy);
void planned_done(struct planned *planned);
/* All that was said against it, for messages. */
const char *planned_reason(const struct planned *planned);

/* What a path inside shows, by the mount operations alone. */
enum sight_kind {
	SIGHT_HOST,   /* the host's file */
	SIGHT_OURS,   /* one of our own file systems */
	SIGHT_HIDDEN, /* a mask */
};
struct sight {
	enum sight_kind kind;
	bool writable;
	char source[1024]; /* SIGHT_HOST: the file on the host */
};
struct sight plan_sight(const struct plan *plan, const char *path);

#endif
