/*
 * The tree lies below /var/tmp unless a test says otherwise: /tmp is private inside, so that there nothing of the host
 * shows through. Everything in it belongs to whoever runs the tests, with modes that do not depend on the umask.
 *
 * plan_sight() is the tests' own reading of the mount operations, written without a look at how the plan makes them.
 */
#include "tests/unit/world.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/unit/harness.h"

const char *const world_hosts[] = {"full", "full-user", "hybrid-root", "hybrid-user", "in-container", "no-cgroup",
	"no-userns", "old-kernel", NULL};

static void make_parents(const struct world *world, const char *path)
{
	char *at = strdup(path);

	cr_assert_not_null(at);
	for (char *slash = strchr(at + strlen(world->root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		cr_assert(mkdir(at, 0755) == 0 || errno == EEXIST, "mkdir %s: %s", at, strerror(errno));
		*slash = '/';
	}
	free(at);
}

void world_add_directory(const struct world *world, const char *path, unsigned mode)
{
	cleanup_free char *at = world_text(world, path);

	make_parents(world, at);
	cr_assert(mkdir(at, 0755) == 0 || errno == EEXIST, "mkdir %s: %s", at, strerror(errno));
	cr_assert_eq(chmod(at, mode), 0);
}

void world_add_file(const struct world *world, const char *path, unsigned mode)
{
	cleanup_free char *at = world_text(world, path);
	int fd;

	make_parents(world, at);
	fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0, "create %s: %s", at, strerror(errno));
	cr_assert_eq(fchmod(fd, mode), 0);
	cr_assert_eq(close(fd), 0);
}

void world_add_link(const struct world *world, const char *path, const char *target)
{
	cleanup_free char *at = world_text(world, path);
	cleanup_free char *to = world_text(world, target);

	make_parents(world, at);
	cr_assert_eq(symlink(to, at), 0, "symlink %s: %s", at, strerror(errno));
}

static void fill(const struct world *world)
{
	static const struct {
		const char *path;
		unsigned mode;
	} files[] = {
		{"@/home/.ssh/id_ed25519", 0600},
		{"@/home/notes", 0644},
		{"@/ws/README", 0644},
		{"@/ws/.env", 0644},
		{"@/ws/src/main.c", 0644},
		{"@/ws/sub/.env", 0644},
		{"@/ws/sub/deep/file", 0644},
		{"@/ws/secrets/key.pem", 0600},
		{"@/ws/secrets/open/note", 0644},
		{"@/ws/.git/HEAD", 0644},
		{"@/ws/.git/config", 0644},
		{"@/outside/log", 0644},
		{"@/outside/data/file", 0644},
		{"@/rootfs/etc/passwd", 0644},
		{"@/rootfs/bin/sh", 0755},
	};
	static const char *const directories[] = {"@/ws/.git/hooks", "@/rootfs/tmp", "@/rootfs/run", "@/rootfs/proc"};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		world_add_file(world, files[i].path, files[i].mode);
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		world_add_directory(world, directories[i], 0755);
	world_add_link(world, "@/ws/link", "src");
	world_add_link(world, "@/ws/away", "../outside/data");
}

void world_init(struct world *world, const char *parent)
{
	cleanup_free char *resolved = NULL;
	char made[PATH_MAX];

	(void)umask(022);
	cr_assert_eq(setenv("TMPDIR", parent, 1), 0);
	cr_assert_eq(unsetenv("PINFOLD_UID_BASE"), 0);
	cr_assert_eq(close(harness_tmpdir(made, sizeof made)), 0);
	cr_assert_eq(chmod(made, 0755), 0);
	resolved = realpath(made, NULL);
	cr_assert(resolved != NULL && strlen(resolved) < sizeof world->root);
	memcpy(world->root, resolved, strlen(resolved) + 1);
	(void)snprintf(world->ws, sizeof world->ws, "%s/ws", world->root);
	(void)snprintf(world->home, sizeof world->home, "%s/home", world->root);
	fill(world);
}

void world_done(struct world *world)
{
	harness_rm_tree(world->root);
}

char *world_text(const struct world *world, const char *text)
{
	struct buf buf = {0};
	struct error err = {0};

	for (; *text != '\0'; text++) {
		if (*text == '@')
			buf_append(&buf, world->root, strlen(world->root));
		else
			buf_append(&buf, text, 1);
	}
	harness_ok(buf_check(&buf, &err), &err);
	return buf_steal(&buf);
}

char *world_read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	struct buf buf = {0};
	char part[4096];
	size_t n;

	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	while ((n = fread(part, 1, sizeof part, file)) > 0)
		buf_append(&buf, part, n);
	cr_assert_eq(fclose(file), 0);
	return buf_steal(&buf);
}

struct host world_host(const char *name)
{
	cleanup_free char *text = NULL;
	char path[PATH_MAX];
	struct error err = {0};
	struct host host;

	(void)snprintf(path, sizeof path, HOSTS_DIRECTORY "/%s.json", name);
	text = world_read_file(path);
	harness_ok(host_parse(text, strlen(text), &host, &err), &err);
	return host;
}

static void load_policy(const struct world *world, const char *policy, struct planned *planned)
{
	cleanup_free char *text = world_text(world, policy);

	if (policy[0] == ':')
		(void)!policy_document_load(policy, &planned->document, &planned->diag, &planned->err);
	else
		(void)!policy_document_parse(
			text, "test", world->root, &planned->document, &planned->diag, &planned->err);
}

struct planned world_plan_at(const struct world *world, const struct host *host, const char *policy, const char *workspace)
{
	char program[] = "/bin/true";
	char path[] = "PATH=/usr/bin:/bin";
	char lang[] = "LANG=C.UTF-8";
	char token[] = "TOKEN=secret";
	char *argv[] = {program, NULL};
	char *environment[] = {path, lang, token, NULL};
	const struct command command = {.argv = argv,
		.environment = environment,
		.workspace = workspace != NULL ? workspace : world->ws,
		.home = world->home,
		.stdin_fd = -1,
		.out_fd = -1,
		.err_fd = -1};
	struct planned planned = {0};

	load_policy(world, policy, &planned);
	if (planned.document != NULL &&
		policy_document_resolve(planned.document, &planned.policy, &planned.diag, &planned.err) == 0)
		(void)!plan_new(planned.policy, host, &command, &planned.plan, &planned.diag, &planned.err);
	return planned;
}

struct planned world_plan(const struct world *world, const char *host, const char *policy)
{
	struct host facts = world_host(host);

	return world_plan_at(world, &facts, policy, NULL);
}

void planned_done(struct planned *planned)
{
	(void)plan_free(planned->plan);
	(void)policy_document_free(planned->document);
	diag_done(&planned->diag);
}

const char *planned_reason(const struct planned *planned)
{
	return planned->diag.n > 0 ? planned->diag.entries[0].text : planned->err.text;
}

static bool covers(const char *target, const char *path)
{
	size_t size = strlen(target);

	if (strcmp(target, "/") == 0)
		return true;
	return strncmp(target, path, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static void see(struct sight *sight, enum sight_kind kind, bool writable)
{
	sight->kind = kind;
	sight->writable = writable;
	sight->source[0] = '\0';
}

static void see_bind(struct sight *sight, const struct mount_op *op, const char *path)
{
	const char *rest = strcmp(op->target, "/") == 0 ? path : path + strlen(op->target);

	see(sight, SIGHT_HOST, (op->flags & MOUNT_WRITE) != 0);
	(void)snprintf(sight->source, sizeof sight->source, "%s%s", strcmp(op->source, "/") == 0 ? "" : op->source, rest);
}

/* Mounts are made in order and only cover: the last one over a path is the one that counts. */
struct sight plan_sight(const struct plan *plan, const char *path)
{
	const struct mount_plan *mounts = &plan->mounts;
	struct sight sight = {.kind = mounts->host_root ? SIGHT_HOST : SIGHT_OURS, .writable = !mounts->host_root};
	const char *mounted_at = "/";

	(void)snprintf(sight.source, sizeof sight.source, "%s", mounts->host_root ? path : "");
	for (size_t i = 0; i < mounts->n_ops; i++) {
		const struct mount_op *op = &mounts->ops[i];

		if (!covers(op->target, path))
			continue;
		switch (op->kind) {
		case MOUNT_BIND: see_bind(&sight, op, path); break;
		case MOUNT_PIN: sight.writable = (op->flags & MOUNT_WRITE) != 0; break;
		case MOUNT_MASK: see(&sight, SIGHT_HIDDEN, false); break;
		case MOUNT_SCRATCH: see(&sight, SIGHT_OURS, (op->flags & MOUNT_WRITE) != 0); break;
		case MOUNT_TMPFS:
		case MOUNT_PROC:
		case MOUNT_DEVPTS: see(&sight, SIGHT_OURS, true); break;
		case MOUNT_READONLY:
			if (strcmp(mounted_at, op->target) == 0)
				sight.writable = false;
			continue;
		case MOUNT_DIRECTORY:
		case MOUNT_FILE:
		case MOUNT_SYMLINK:
		case _MOUNT_KIND_COUNT: continue;
		}
		mounted_at = op->target;
	}
	return sight;
}
