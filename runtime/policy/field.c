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
#define PROCESSES_MAX 4194304    /* the kernel's PID_MAX_LIMIT */
#define FILES_MIN     8          /* three streams, the loader and a library or two */
#define FILES_MAX     1073741816 /* the kernel's bound of fs.nr_open */
#define CPUS_MIN      10         /* a hundredth: cpu.max takes no quota below 1 ms */
#define CPUS_MAX      1000000000

#define AT(member)        .offset = offsetof(struct policy, member)
#define LIST(member)      AT(member), .n_offset = offsetof(struct policy, n_##member)
#define LIMIT(member)     AT(limits.member), .nullable = true
#define RANGE(low, high)  .min = (low), .max = (high)
#define PATHS(which)      .kind = KIND_PATHS, LIST(paths), .access = (which)
#define WORD(member, set) .kind = KIND_WORD, AT(member), .words = (set)

const struct policy_field policy_fields[_FIELD_COUNT] = {
	[FIELD_BACKEND] = {"backend", WORD(backend, policy_backend_words)},
	[FIELD_ENFORCEMENT] = {"enforcement", WORD(enforcement, policy_enforcement_words)},
	[FIELD_ROOT] = {"filesystem.root", KIND_ROOT, AT(root)},
	[FIELD_READ] = {"filesystem.read", PATHS(ACCESS_READ)},
	[FIELD_WRITE] = {"filesystem.write", PATHS(ACCESS_WRITE)},
	[FIELD_DENY] = {"filesystem.deny", PATHS(ACCESS_DENY), .kept = true},
	[FIELD_PROTECT] = {"filesystem.protect", PATHS(ACCESS_PROTECT), .kept = true},
	[FIELD_BIND] = {"filesystem.bind", KIND_BINDS, LIST(binds)},
	[FIELD_TMPFS] = {"filesystem.tmpfs", KIND_TMPFS, LIST(tmpfs), RANGE(64 * KIB, INT64_MAX), .nullable = true},
	[FIELD_NETWORK_MODE] = {"network.mode", WORD(network, policy_network_words)},
	[FIELD_ENV_PASS] = {"process.env.pass", KIND_PATTERNS, LIST(env_pass)},
	[FIELD_ENV_SET] = {"process.env.set", KIND_VARIABLES, LIST(env_set)},
	[FIELD_HOSTNAME] = {"process.hostname", KIND_HOSTNAME, AT(hostname)},
	[FIELD_IDENTITY] = {"process.identity", WORD(identity, policy_identity_words)},
	[FIELD_NESTED_NAMESPACES] = {"process.nested_namespaces", KIND_BOOL, AT(nested_namespaces)},
	[FIELD_SECCOMP_PROFILE] = {"seccomp.profile", KIND_PROFILE, AT(seccomp_profile)},
	[FIELD_SECCOMP_ALLOW] = {"seccomp.allow", KIND_SYSCALLS, LIST(seccomp_allow)},
	[FIELD_SECCOMP_DENY] = {"seccomp.deny", KIND_SYSCALLS, LIST(seccomp_deny)},
	[FIELD_SECCOMP_ERRNO] = {"seccomp.errno", KIND_ERRNO, AT(seccomp_errno)},
	[FIELD_WALL_TIME] = {"limits.wall_time", KIND_TIME, LIMIT(wall_ns), RANGE(TIME_MIN, INT64_MAX)},
	[FIELD_CPU_TIME] = {"limits.cpu_time", KIND_TIME, LIMIT(cpu_ns), RANGE(TIME_MIN, INT64_MAX)},
	[FIELD_MEMORY] = {"limits.memory", KIND_SIZE, LIMIT(memory_bytes), RANGE(MIB, INT64_MAX)},
	[FIELD_SWAP] = {"limits.swap", KIND_SIZE, LIMIT(swap_bytes), RANGE(0, INT64_MAX)},
	[FIELD_MEMORY_STRATEGY] = {"limits.memory_strategy", WORD(limits.memory_strategy, policy_memory_strategy_words)},
	[FIELD_PROCESSES] = {"limits.processes", KIND_COUNT, LIMIT(processes), RANGE(1, PROCESSES_MAX)},
	[FIELD_CPUS] = {"limits.cpus", KIND_MILLI, LIMIT(cpus_milli), RANGE(CPUS_MIN, CPUS_MAX)},
	[FIELD_FILE_SIZE] = {"limits.file_size", KIND_SIZE, LIMIT(file_size_bytes), RANGE(0, INT64_MAX)},
	[FIELD_OPEN_FILES] = {"limits.open_files", KIND_COUNT, LIMIT(open_files), RANGE(FILES_MIN, FILES_MAX)},
	[FIELD_TMP_SIZE] = {"limits.tmp_size", KIND_SIZE, LIMIT(tmp_size_bytes), RANGE(64 * KIB, INT64_MAX)},
	[FIELD_OUTPUT] = {"limits.output", KIND_SIZE, LIMIT(output_bytes), RANGE(0, INT64_MAX)},
	[FIELD_REQUIRE] = {"require", KIND_REQUIREMENTS, LIST(require)},
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
