/*
 * A policy after parsing, merging, defaults and checks: what is asked, const from here on. Paths are as they were
 * written ("." and relative: the workspace; "~/": the caller's home): the plan resolves them, for it knows the workspace.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define POLICY_VERSION 1

#define LIMIT_NONE UINT64_MAX /* "null" or "none": unlimited */

enum policy_backend {
	BACKEND_AUTO,
	BACKEND_NAMESPACES,
	BACKEND_NONE,
	_BACKEND_COUNT
};
enum policy_enforcement {
	ENFORCEMENT_STRICT,
	ENFORCEMENT_BEST_EFFORT,
	_ENFORCEMENT_COUNT
};
enum policy_root {
	ROOT_HOST,
	ROOT_SYSTEM,
	ROOT_EMPTY,
	ROOT_DIRECTORY,
	_ROOT_COUNT
};
enum policy_network {
	NETWORK_NONE,
	NETWORK_HOST,
	_NETWORK_COUNT
};
enum policy_identity {
	IDENTITY_AUTO,
	IDENTITY_CALLER,
	_IDENTITY_COUNT
};
enum policy_memory_strategy {
	MEMORY_AUTO,
	MEMORY_CGROUP,
	MEMORY_RLIMIT_AS,
	MEMORY_WATCHDOG,
	_MEMORY_COUNT
};
enum policy_access {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_DENY,
	ACCESS_PROTECT,
	_ACCESS_COUNT
};

struct policy_path {
	enum policy_access access;
	const char *path;
	bool optional; /* from a built-in: silently skipped where absent */
	bool secret;   /* from the shipped table of secrets: masked only where the command could read it otherwise */
};

struct policy_bind {
	const char *source, *target;
	bool write;
};

struct policy_tmpfs {
	const char *path;
	uint64_t size_bytes; /* LIMIT_NONE: limits.tmp_size */
};

struct policy_variable {
	const char *name, *value;
};

struct policy_requirement {
	const char *feature;   /* "network", "limits.memory" */
	const char *mechanism; /* NULL: any */
};

struct policy_limits {
	uint64_t wall_ns, cpu_ns, memory_bytes, swap_bytes, processes, cpus_milli;
	uint64_t file_size_bytes, open_files, tmp_size_bytes, output_bytes;
	enum policy_memory_strategy memory_strategy;
};

/* The resolved document as compact JSON with sorted keys, but without the shipped table of secrets, which belongs in
 * its list of denied paths, at secrets_at (digest.h). */
struct policy_text {
	const char *text;
	size_t secrets_at;
};

struct policy {
	const char *name; /* what was loaded: ":read-only", "/a/policy.json" */
	struct policy_text text;
	enum policy_backend backend;
	enum policy_enforcement enforcement;
	enum policy_root root;
	const char *root_directory; /* ROOT_DIRECTORY only */
	struct policy_path *paths;
	size_t n_paths;
	struct policy_bind *binds;
	size_t n_binds;
	struct policy_tmpfs *tmpfs;
	size_t n_tmpfs;
	enum policy_network network;
	const char **env_pass; /* patterns */
	size_t n_env_pass;
	struct policy_variable *env_set;
	size_t n_env_set;
	const char *hostname;
	enum policy_identity identity;
	bool nested_namespaces;
	const char *seccomp_profile; /* ":default", ":strict", or a file */
	const char **seccomp_allow, **seccomp_deny;
	size_t n_seccomp_allow, n_seccomp_deny;
	int seccomp_errno;
	struct policy_limits limits;
	struct policy_requirement *require;
	size_t n_require;
	const char **warnings; /* from loading, for the report */
	size_t n_warnings;
};

#endif
