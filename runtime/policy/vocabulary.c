/*
 * The words of policies and reports.
 *
 * Every word that a person may write or read stands here once: parser, report, "did you mean" and the reference all
 * take it from here. A table of enum names is as long as its enum, which the compiler checks.
 */
#include "runtime/policy/vocabulary.h"

#include <string.h>

#include "runtime/policy/words.h"

#define HAS_ALL(words, count) _Static_assert(sizeof(words) / sizeof *(words) == (count) + 1, "a word for each value")

const char *const policy_backend_words[] = {
	[BACKEND_AUTO] = "auto",
	[BACKEND_NAMESPACES] = "namespaces",
	[BACKEND_NONE] = "none",
	[_BACKEND_COUNT] = NULL,
};
HAS_ALL(policy_backend_words, _BACKEND_COUNT);

const char *const policy_enforcement_words[] = {
	[ENFORCEMENT_STRICT] = "strict",
	[ENFORCEMENT_BEST_EFFORT] = "best-effort",
	[_ENFORCEMENT_COUNT] = NULL,
};
HAS_ALL(policy_enforcement_words, _ENFORCEMENT_COUNT);

/* ROOT_DIRECTORY is named by its path; this word is for messages alone. */
const char *const policy_root_words[] = {
	[ROOT_HOST] = "host",
	[ROOT_SYSTEM] = "system",
	[ROOT_EMPTY] = "empty",
	[ROOT_DIRECTORY] = NULL,
	[_ROOT_COUNT] = NULL,
};
HAS_ALL(policy_root_words, _ROOT_COUNT);

const char *const policy_network_words[] = {
	[NETWORK_NONE] = "none",
	[NETWORK_HOST] = "host",
	[_NETWORK_COUNT] = NULL,
};
HAS_ALL(policy_network_words, _NETWORK_COUNT);

const char *const policy_identity_words[] = {
	[IDENTITY_AUTO] = "auto",
	[IDENTITY_CALLER] = "caller",
	[_IDENTITY_COUNT] = NULL,
};
HAS_ALL(policy_identity_words, _IDENTITY_COUNT);

const char *const policy_memory_strategy_words[] = {
	[MEMORY_AUTO] = "auto",
	[MEMORY_CGROUP] = "cgroup",
	[MEMORY_RLIMIT_AS] = "rlimit_as",
	[MEMORY_WATCHDOG] = "watchdog",
	[_MEMORY_COUNT] = NULL,
};
HAS_ALL(policy_memory_strategy_words, _MEMORY_COUNT);

const char *const policy_bool_words[] = {"false", "true", NULL};
const char *const policy_seccomp_profile_words[] = {":default", ":strict", NULL};

const char *policy_root_name(enum policy_root root)
{
	return root == ROOT_DIRECTORY ? "directory" : policy_root_words[root];
}

/* The order is that of the report's rows. FEATURES(name, mechanisms...) is expanded twice: names, then mechanisms. */
#define FEATURES(F)                                                             \
	F("user_namespace", "clone3")                                           \
	F("mount_namespace", "clone3")                                          \
	F("pid_namespace", "clone3")                                            \
	F("network", "net_namespace")                                           \
	F("ipc_namespace", "clone3")                                            \
	F("uts_namespace", "clone3")                                            \
	F("cgroup_namespace", "clone3")                                         \
	F("identity", "id_map", "caller")                                       \
	F("no_new_privs", "prctl")                                              \
	F("capabilities", "capset")                                             \
	F("seccomp", "filter")                                                  \
	F("nested_namespaces", "seccomp")                                       \
	F("landlock", "landlock")                                               \
	F("proc_masks", "mounts")                                               \
	F("devices", "mounts")                                                  \
	F("setuid_files", "seccomp")                                            \
	F("host_sockets", "mounts")                                             \
	F("protected_paths", "mounts", "inotify")                               \
	F("tree_kill", "pid_namespace", "cgroup", "subreaper")                  \
	F("limits.wall_time", "supervisor")                                     \
	F("limits.cpu_time", "cgroup", "cgroup-base", "rlimit_cpu", "watchdog") \
	F("limits.memory", "cgroup", "rlimit_as", "watchdog")                   \
	F("limits.swap", "cgroup")                                              \
	F("limits.processes", "cgroup", "rlimit_nproc", "watchdog")             \
	F("limits.cpus", "cgroup", "affinity")                                  \
	F("limits.file_size", "rlimit")                                         \
	F("limits.open_files", "rlimit")                                        \
	F("limits.tmp_size", "tmpfs")                                           \
	F("limits.output", "supervisor")

#define FEATURE_NAME(name, ...)       name,
#define FEATURE_MECHANISMS(name, ...) {__VA_ARGS__, NULL},
#define MECHANISMS_MAX                5

const char *const policy_feature_names[] = {FEATURES(FEATURE_NAME) NULL};
static const char *const feature_mechanisms[][MECHANISMS_MAX] = {FEATURES(FEATURE_MECHANISMS)};

const char *const *policy_feature_mechanisms(const char *feature)
{
	for (size_t i = 0; policy_feature_names[i] != NULL; i++)
		if (strcmp(policy_feature_names[i], feature) == 0)
			return feature_mechanisms[i];
	return NULL;
}
