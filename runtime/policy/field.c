/*
 * The table of policy fields.
 *
 * A field is added by a line here, a member of struct policy, a value in profiles/read-only.jsonc and a paragraph in
 * docs/policy.md. Bounds are those below which a command could not even be started, or which the kernel would take for
 * something else (a tmpfs of size 0 is unlimited).
 */
#include "runtime/policy/field.h"

#include <stdio.h>
#include <string.h>

#include "base/monotime.h"
#include "base/str.h"
#include "runtime/policy/words.h"

#define KIB           1024ull
#define MIB           (1024 * KIB)
#define TIME_MIN      NS_PER_MS
#define TIME_MAX      (INT64_MAX / NS_PER_S * NS_PER_S) /* whole seconds: exact as a JSON number too */
#define PROCESSES_MAX 4194304                           /* the kernel's PID_MAX_LIMIT */
#define FILES_MIN     8                                 /* three streams, the loader and a library or two */
#define FILES_MAX     1073741816                        /* the kernel's bound of fs.nr_open */
#define CPUS_MIN      10                                /* a hundredth: cpu.max takes no quota below 1 ms */
#define CPUS_MAX      1000000000

#define AT(member)        .offset = offsetof(struct policy, member)
#define LIST(member)      AT(member), .n_offset = offsetof(struct policy, n_##member)
#define LIMIT(member)     AT(limits.member), .nullable = true
#define RANGE(low, high)  .min = (low), .max = (high)
#define PATHS(which)      .kind = KIND_PATHS, LIST(paths), .access = (which)
#define WORD(member, set) .kind = KIND_WORD, AT(member), .words = (set)

const struct policy_field policy_fields[_FIELD_COUNT] = {
	[FIELD_BACKEND] = {"backend", WORD(backend, policy_backend_words),
		.about = "What isolates. \"auto\" is whatever boundary this pinfold has, and never falls to \"none\"."},
	[FIELD_ENFORCEMENT] = {"enforcement", WORD(enforcement, policy_enforcement_words),
		.about = "\"strict\": refuse to run where something asked cannot be enforced. \"best-effort\": run, and say "
			 "what was lost."},
	[FIELD_ROOT] = {"filesystem.root", KIND_ROOT, AT(root),
		.about = "What the command's file tree is made of: the host's, read-only and without secrets; its system "
			 "directories only; nothing; or a root file system of one's own, by its absolute path."},
	[FIELD_READ] = {"filesystem.read", PATHS(ACCESS_READ),
		.about = "What may be read beyond the root. A missing path is skipped with a warning."},
	[FIELD_WRITE] = {"filesystem.write", PATHS(ACCESS_WRITE),
		.about = "What may be read and written. A missing path is an error."},
	[FIELD_DENY] = {"filesystem.deny", PATHS(ACCESS_DENY), .kept = true,
		.about = "What can be neither read nor listed; may hold patterns (\"**/.env\"), matched once at launch. Can "
			 "only grow: what an extended policy denies stays denied."},
	[FIELD_PROTECT] = {"filesystem.protect", PATHS(ACCESS_PROTECT), .kept = true,
		.about = "What stays read-only below a writable path, and cannot be made where it does not exist. Can only "
			 "grow."},
	[FIELD_BIND] = {"filesystem.bind", KIND_BINDS, LIST(binds), .about = "Files and directories shown elsewhere."},
	[FIELD_TMPFS] = {"filesystem.tmpfs", KIND_TMPFS, LIST(tmpfs), RANGE(64 * KIB, INT64_MAX), .nullable = true,
		.about = "Empty directories in memory, gone afterwards."},
	[FIELD_NETWORK_MODE] = {"network.mode", WORD(network, policy_network_words),
		.about = "\"none\": a network of its own with nothing but loopback. \"host\": this machine's."},
	[FIELD_ENV_PASS] = {"process.env.pass", KIND_PATTERNS, LIST(env_pass),
		.about = "Names of the caller's variables that are passed on; * stands for anything."},
	[FIELD_ENV_SET] = {"process.env.set", KIND_VARIABLES, LIST(env_set),
		.about = "Variables and their values; they win over what is passed on."},
	[FIELD_HOSTNAME] = {"process.hostname", KIND_HOSTNAME, AT(hostname), .about = "The host name inside."},
	[FIELD_IDENTITY] = {"process.identity", WORD(identity, policy_identity_words),
		.about = "Started by root: with \"auto\" the command is an unprivileged user, with \"caller\" root of its own "
			 "user namespace. Everybody else keeps uid and name."},
	[FIELD_NESTED_NAMESPACES] = {"process.nested_namespaces", KIND_BOOL, AT(nested_namespaces),
		.about = "Whether the command may make namespaces itself, as a browser's sandbox does."},
	[FIELD_SECCOMP_PROFILE] = {"seccomp.profile", KIND_PROFILE, AT(seccomp_profile),
		.about = "The list of system calls: a built-in one, or a file in the OCI format, relative to this one."},
	[FIELD_SECCOMP_ALLOW] = {"seccomp.allow", KIND_SYSCALLS, LIST(seccomp_allow),
		.about = "System calls allowed beside the profile's."},
	[FIELD_SECCOMP_DENY] = {"seccomp.deny", KIND_SYSCALLS, LIST(seccomp_deny),
		.about = "System calls that fail, whatever the profile says."},
	[FIELD_SECCOMP_ERRNO] = {"seccomp.errno", KIND_ERRNO, AT(seccomp_errno),
		.about = "The error with which a denied system call fails."},
	[FIELD_WALL_TIME] = {"limits.wall_time", KIND_TIME, LIMIT(wall_ns), RANGE(TIME_MIN, TIME_MAX),
		.about = "The whole tree is ended after this time."},
	[FIELD_CPU_TIME] = {"limits.cpu_time", KIND_TIME, LIMIT(cpu_ns), RANGE(TIME_MIN, TIME_MAX),
		.about = "The whole tree is ended after this much processor time."},
	[FIELD_MEMORY] = {"limits.memory", KIND_SIZE, LIMIT(memory_bytes), RANGE(MIB, INT64_MAX),
		.about = "Memory of all processes together."},
	[FIELD_SWAP] = {"limits.swap", KIND_SIZE, LIMIT(swap_bytes), RANGE(0, INT64_MAX),
		.about = "Swap of all processes together; needs the cgroup memory controller."},
	[FIELD_MEMORY_STRATEGY] = {"limits.memory_strategy", WORD(limits.memory_strategy, policy_memory_strategy_words),
		.about = "What holds limits.memory; one that is named is never replaced by another."},
	[FIELD_PROCESSES] = {"limits.processes", KIND_COUNT, LIMIT(processes), RANGE(1, PROCESSES_MAX),
		.about = "Processes and threads at a time."},
	[FIELD_CPUS] = {"limits.cpus", KIND_MILLI, LIMIT(cpus_milli), RANGE(CPUS_MIN, CPUS_MAX),
		.about = "Processors, as in 0.5 or 2."},
	[FIELD_FILE_SIZE] = {"limits.file_size", KIND_SIZE, LIMIT(file_size_bytes), RANGE(0, INT64_MAX),
		.about = "Size of any one file written."},
	[FIELD_OPEN_FILES] = {"limits.open_files", KIND_COUNT, LIMIT(open_files), RANGE(FILES_MIN, FILES_MAX),
		.about = "Open files of any one process."},
	[FIELD_TMP_SIZE] = {"limits.tmp_size", KIND_SIZE, LIMIT(tmp_size_bytes), RANGE(64 * KIB, INT64_MAX),
		.about = "Size of /tmp, and of each other tmpfs that names none."},
	[FIELD_OUTPUT] = {"limits.output", KIND_SIZE, LIMIT(output_bytes), RANGE(0, INT64_MAX),
		.about = "What is kept of stdout and of stderr, each; 0 keeps nothing."},
	[FIELD_REQUIRE] = {"require", KIND_REQUIREMENTS, LIST(require),
		.about = "Refuse to run where one of these is not enforced, or not by the mechanism named behind \"=\"."},
};

const struct policy_name policy_document_keys[] = {
	{"version", "The version of the policy language."},
	{"description", "For people."},
	{"extends", "The policy below this one: a built-in, or a file relative to this one. Default: \":read-only\"."},
	{"$schema", "For editors."},
	{NULL, NULL},
};

const struct policy_name policy_sections[] = {
	{"filesystem",
		"Files. Relative paths lie in the workspace, \"~/\" is the caller's home. For a path under several rules "
		"the longest wins; on one path deny wins over read, and read over write."},
	{"network", "The network."},
	{"process", "What the command finds itself to be."},
	{"process.env", "The environment, which begins empty but for HOME, USER, PWD, TMPDIR, PATH and PINFOLD."},
	{"seccomp", "The filter of system calls."},
	{"limits", "Limits; null lifts one."},
	{NULL, NULL},
};

const struct policy_member policy_bind_members[] = {
	{"source", KIND_PATHS, PATH_BIND_SOURCE, true, "The file or directory on the host."},
	{"target", KIND_PATHS, PATH_BIND_TARGET, true, "Where it shows inside."},
	{"write", KIND_BOOL, .about = "Whether it may be written."},
	{.name = NULL},
};

const struct policy_member policy_tmpfs_members[] = {
	{"path", KIND_PATHS, PATH_TMPFS, true, "Where it is."},
	{"size", KIND_SIZE, .about = "Its size; default, and with null: limits.tmp_size."},
	{.name = NULL},
};

bool policy_kind_is_list(enum policy_kind kind)
{
	return kind >= KIND_PATHS;
}

bool policy_kind_is_keyed(enum policy_kind kind)
{
	return kind >= KIND_BINDS;
}

enum policy_field_id policy_field_find(const char *name)
{
	for (unsigned id = 0; id < _FIELD_COUNT; id++)
		if (strcmp(policy_fields[id].name, name) == 0)
			return (enum policy_field_id)id;
	return _FIELD_COUNT;
}

/* What follows "SECTION." in name; name itself for "" ; NULL where it lies elsewhere. */
static const char *inside(const char *section, const char *name)
{
	size_t size = strlen(section);

	if (size == 0)
		return name;
	return strncmp(section, name, size) == 0 && name[size] == '.' ? name + size + 1 : NULL;
}

bool policy_field_is_section(const char *name)
{
	for (size_t i = 0; i < _FIELD_COUNT; i++)
		if (name[0] != '\0' && inside(name, policy_fields[i].name) != NULL)
			return true;
	return false;
}

const char *policy_field_nearest(const char *section, const char *key, char *buf, size_t size)
{
	char names[_FIELD_COUNT][32];
	const char *words[_FIELD_COUNT + 1];
	const char *nearest;
	size_t n = 0;

	for (size_t i = 0; i < _FIELD_COUNT; i++) {
		const char *rest = inside(section, policy_fields[i].name);

		if (rest == NULL)
			continue;
		(void)snprintf(names[n], sizeof names[n], "%.*s", (int)strcspn(rest, "."), rest);
		words[n] = names[n];
		n++;
	}
	words[n] = NULL;
	nearest = str_nearest(key, words);
	if (nearest == NULL)
		return NULL;
	(void)snprintf(buf, size, "%s", nearest);
	return buf;
}

const char *policy_field_nearest_name(const char *name)
{
	const char *words[_FIELD_COUNT + 1];

	for (size_t i = 0; i < _FIELD_COUNT; i++)
		words[i] = policy_fields[i].name;
	words[_FIELD_COUNT] = NULL;
	return str_nearest(name, words);
}
