/*
 * What every tree inside has, whatever the policy's paths say: a root, a small /dev, a fresh /proc with what is global
 * in it masked, an empty /run, private /tmp and /dev/shm on one sized tmpfs, and, where the command has an identity of
 * its own, passwd and group files that know it.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/plan/planner.h"

#define SCRATCH_SLACK_BYTES (64u << 10)

static const char *const system_directories[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* The small /etc of the system root: what programs need to find libraries, names, zones and certificates. */
static const char *const system_etc[] = {"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
	"debian_version", "fonts", "gai.conf", "group", "host.conf", "hosts", "inputrc", "java-17-openjdk",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "login.defs", "magic", "mime.types",
	"nsswitch.conf", "os-release", "passwd", "perl", "pki", "profile", "profile.d", "protocols", "python3",
	"python3.11", "rpc", "services", "shells", "ssl", "terminfo", "timezone", "xattr.conf"};

static const char *const device_nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

static const struct {
	const char *path, *target;
} device_links[] = {
	{"/dev/fd", "/proc/self/fd"},
	{"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"},
	{"/dev/stderr", "/proc/self/fd/2"},
	{"/dev/ptmx", "pts/ptmx"},
};

/* What is not per process in a proc. An outer uid that is not 0 has no right to most of it anyway; for it only what is
 * open to everybody is masked, because each mount costs. */
static const struct {
	const char *path;
	bool mask; /* else read-only */
	bool always;
} proc_entries[] = {
	{"/proc/sys", false, true},
	{"/proc/keys", true, true},
	{"/proc/sched_debug", true, true},
	{"/proc/1", false, false},
	{"/proc/acpi", true, false},
	{"/proc/asound", true, false},
	{"/proc/bus", false, false},
	{"/proc/fs", false, false},
	{"/proc/interrupts", true, false},
	{"/proc/irq", false, false},
	{"/proc/kcore", true, false},
	{"/proc/latency_stats", true, false},
	{"/proc/scsi", true, false},
	{"/proc/sysrq-trigger", false, false},
	{"/proc/timer_list", true, false},
	{"/proc/timer_stats", true, false},
};

static const char private_passwd[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
				     "pinfold:x:1000:1000:pinfold:/tmp/.home:/bin/sh\n"
				     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char private_group[] = "root:x:0:\npinfold:x:1000:\nnogroup:x:65534:\n";

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void add_scratch(struct planner *planner, const char *name, bool directory, unsigned mode, const char *content)
{
	struct mount_plan *mounts = &planner->plan->mounts;
	struct mount_scratch *entry = arena_push(planner->arena, &mounts->scratch, &mounts->n_scratch);

	if (entry != NULL)
		*entry = (struct mount_scratch){name, directory, mode, content};
}

static void add_from_host(struct planner *planner, const char *path)
{
	char target[4096];
	struct stat st;
	struct node *node;
	ssize_t n;

	if (planner_lstat(planner, path, &st) < 0)
		return;
	node = planner_add_node(planner, S_ISLNK(st.st_mode) ? NODE_SYMLINK : NODE_BIND, path);
	if (node == NULL)
		return;
	node->source = path;
	node->directory = S_ISDIR(st.st_mode);
	if (node->kind == NODE_SYMLINK) {
		n = readlink(path, target, sizeof target);
		node->source = arena_strndup(planner->arena, target, n < 0 ? 0 : (size_t)n);
	}
}

static struct node *add_skeleton(struct planner *planner, const char *path)
{
	struct node *node = planner_add_node(planner, NODE_SKELETON, path);

	if (node != NULL)
		node->seal = true;
	return node;
}

static void add_system_root(struct planner *planner)
{
	(void)add_skeleton(planner, "/");
	for (size_t i = 0; i < COUNT(system_directories); i++)
		add_from_host(planner, system_directories[i]);
	(void)add_skeleton(planner, "/etc");
	for (size_t i = 0; i < COUNT(system_etc); i++)
		add_from_host(planner, planner_join(planner, "/etc", system_etc[i]));
}

static int add_directory_root(struct planner *planner, struct error *err)
{
	const char *said = planner->policy->root_directory;
	struct stat st;
	bool exists = false;
	const char *path = planner_canonical(planner, said, &exists);
	struct node *node;

	if (path == NULL)
		return error_no_memory(err);
	if (!exists || planner_stat(planner, path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		diag_error(planner->diag, "filesystem.root: %s: is not a directory", said);
		return 0;
	}
	node = planner_add_node(planner, NODE_BIND, "/");
	if (node != NULL)
		node->source = path;
	return 0;
}

static int add_root(struct planner *planner, struct error *err)
{
	switch (planner->policy->root) {
	case ROOT_HOST: (void)planner_add_node(planner, NODE_HOST, "/"); return 0;
	case ROOT_SYSTEM: add_system_root(planner); return 0;
	case ROOT_EMPTY: (void)add_skeleton(planner, "/"); return 0;
	case ROOT_DIRECTORY: return add_directory_root(planner, err);
	case _ROOT_COUNT: break;
	}
	return error_set(err, ERROR_INTERNAL, "plan", "unknown root");
}

static void add_devices(struct planner *planner)
{
	struct node *node;

	(void)add_skeleton(planner, "/dev");
	for (size_t i = 0; i < COUNT(device_nodes); i++) {
		node = planner_add_node(planner, NODE_BIND, device_nodes[i]);
		if (node == NULL)
			return;
		node->source = device_nodes[i];
		node->directory = false;
		node->flags = MOUNT_DEVICE | MOUNT_NOEXEC | MOUNT_OPTIONAL; /* a device can be written to all the same */
	}
	for (size_t i = 0; i < COUNT(device_links); i++) {
		node = planner_add_node(planner, NODE_SYMLINK, device_links[i].path);
		if (node != NULL)
			node->source = device_links[i].target;
	}
	(void)planner_add_node(planner, NODE_DEVPTS, "/dev/pts");
}

static void add_proc(struct planner *planner)
{
	bool root = planner->outer_uid == 0 && !planner->plan->identity.mapped;

	(void)planner_add_node(planner, NODE_PROC, "/proc");
	for (size_t i = 0; i < COUNT(proc_entries); i++) {
		struct node *node;

		/* The kernel lets a namespace inside mount a proc of its own only where the one it sees is whole. */
		if (planner->policy->nested_namespaces && !root)
			return;
		if ((!proc_entries[i].always && !root) || access(proc_entries[i].path, F_OK) != 0)
			continue;
		node = planner_add_node(planner, proc_entries[i].mask ? NODE_MASK : NODE_PIN, proc_entries[i].path);
		if (node != NULL)
			node->flags = MOUNT_OPTIONAL;
	}
}

static void add_scratch_node(struct planner *planner, const char *path, const char *name, bool directory, bool seal)
{
	struct node *node = planner_add_node(planner, NODE_SCRATCH, path);

	if (node == NULL)
		return;
	node->source = name;
	node->directory = directory;
	node->flags = directory ? MOUNT_WRITE : 0;
	node->seal = seal;
}

/* The host's /run holds the sockets by which a host is controlled, under whatever name. */
static void hide_run(struct planner *planner, const char *path)
{
	const char *host_path = planner_host_path(planner, path);
	struct stat st;

	if (host_path == NULL || (planner_lstat(planner, host_path, &st) == 0 && S_ISDIR(st.st_mode)))
		add_scratch_node(planner, path, "run", true, true);
}

/* systemd-resolved and others keep the real file in /run. */
static void keep_resolver(struct planner *planner)
{
	bool exists = false;
	const char *path = planner_canonical(planner, "/etc/resolv.conf", &exists);
	struct node *node;

	if (path == NULL || !exists || planner->policy->network != NETWORK_HOST ||
		(!str_starts_with(path, "/run/") && planner->policy->root == ROOT_HOST))
		return;
	node = planner_add_node(planner, NODE_BIND, path);
	if (node == NULL)
		return;
	node->source = path;
	node->directory = false;
	if (!str_starts_with(path, "/etc/") && planner->policy->root == ROOT_SYSTEM)
		add_from_host(planner, "/etc/resolv.conf"); /* the link to it */
}

static void add_identity_files(struct planner *planner)
{
	static const struct {
		const char *path, *name;
	} files[] = {{"/etc/passwd", "passwd"}, {"/etc/group", "group"}};

	if (!planner->plan->identity.mapped)
		return;
	for (size_t i = 0; i < COUNT(files); i++) {
		const char *host_path = planner_host_path(planner, files[i].path);
		struct stat st;

		/* A link there leads who knows where; then the host's view stays. */
		if (host_path == NULL || (planner_lstat(planner, host_path, &st) == 0 && S_ISREG(st.st_mode)))
			add_scratch_node(planner, files[i].path, files[i].name, false, false);
	}
}

static void fill_scratch(struct planner *planner)
{
	uint64_t size = planner->policy->limits.tmp_size_bytes;

	add_scratch(planner, MOUNT_MASK_FILE, false, 0, NULL);
	add_scratch(planner, MOUNT_MASK_DIRECTORY, true, 0, NULL);
	add_scratch(planner, "tmp", true, 01777, NULL);
	add_scratch(planner, "tmp/.home", true, 0700, NULL);
	add_scratch(planner, "shm", true, 01777, NULL);
	add_scratch(planner, "run", true, 0755, NULL);
	add_scratch(planner, "passwd", false, 0444, private_passwd);
	add_scratch(planner, "group", false, 0444, private_group);
	planner->plan->mounts.scratch_size_bytes = size == LIMIT_NONE ? 0 : size + SCRATCH_SLACK_BYTES;
}

int planner_base_tree(struct planner *planner, struct error *err)
{
	bool exists = false;
	const char *tmp = planner->policy->root == ROOT_HOST ? planner_canonical(planner, "/tmp", &exists) : "/tmp";

	if (add_root(planner, err) < 0)
		return -1;
	add_scratch_node(planner, tmp, "tmp", true, false);
	hide_run(planner, "/run");
	if (planner->policy->root == ROOT_HOST)
		hide_run(planner, "/var/run");
	keep_resolver(planner);
	add_devices(planner);
	add_scratch_node(planner, "/dev/shm", "shm", true, false);
	add_proc(planner);
	add_identity_files(planner);
	fill_scratch(planner);
	return arena_check(planner->arena, err);
}
