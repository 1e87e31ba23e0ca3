/*
 * policy + host + command -> plan, on one screen: plan_new() below. Nothing is started, made or changed here; what is
 * looked at is the file tree, and only by stat, readlink and readdir.
 */
#include "runtime/plan/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/plan/planner.h"

#define INNER_ID 1000u

static int resolve_workspace(struct planner *planner, struct error *err)
{
	const char *said = planner->command->workspace != NULL ? planner->command->workspace : ".";
	char resolved[PATH_MAX];
	struct stat st;

	if (realpath(said, resolved) == NULL || stat(resolved, &st) < 0)
		return error_set_errno(err, ERROR_WORKSPACE_ROOT_NOT_FOUND, errno, "workspace", "%s", said);
	if (!S_ISDIR(st.st_mode))
		return error_set_errno(err, ERROR_WORKSPACE_ROOT_NOT_FOUND, ENOTDIR, "workspace", "%s", said);
	if (planner_is_below(resolved, "/proc") || planner_is_below(resolved, "/sys") ||
		planner_is_below(resolved, "/dev"))
		return error_set(
			err, ERROR_POLICY_INVALID, "workspace", "%s: a kernel file system cannot be a workspace", said);
	if (access(resolved, X_OK) < 0)
		return error_set_errno(err, ERROR_PERMISSION_DENIED, errno, "workspace", "%s", said);
	planner->workspace = arena_strdup(planner->arena, resolved);
	planner->plan->workspace = planner->workspace;
	planner->plan->identity.workspace_uid = st.st_uid;
	planner->plan->identity.workspace_gid = st.st_gid;
	return arena_check(planner->arena, err);
}

static int resolve_home(struct planner *planner, struct error *err)
{
	char resolved[PATH_MAX];

	if (planner->command->home != NULL && realpath(planner->command->home, resolved) != NULL)
		planner->home = arena_strdup(planner->arena, resolved);
	return arena_check(planner->arena, err);
}

/* The current directory where it lies in the workspace and shows inside, else the workspace. */
static const char *default_directory(struct planner *planner)
{
	char here[PATH_MAX];
	char resolved[PATH_MAX];
	const char *shown;

	if (getcwd(here, sizeof here) == NULL || realpath(here, resolved) == NULL ||
		!planner_is_below(resolved, planner->workspace))
		return planner->workspace;
	shown = planner_host_path(planner, resolved);
	return shown != NULL && strcmp(shown, resolved) == 0 ? arena_strdup(planner->arena, resolved)
							     : planner->workspace;
}

static int check_directory(struct planner *planner, const char *path, struct error *err)
{
	const char *host_path = planner_host_path(planner, path);
	struct stat st;

	/* Threat: /proc/self/fd/N and its like name something that is somewhere else, or nowhere, inside. */
	if (planner_is_below(path, "/proc"))
		return error_set(err, ERROR_POLICY_INVALID, "directory", "working directory %s: not below /proc", path);
	if (host_path == NULL)
		return 0; /* in a file system of the command's own: the launch finds out */
	if (planner_stat(planner, host_path, &st) < 0)
		return error_set_errno(err, errno == EACCES ? ERROR_PERMISSION_DENIED : ERROR_NOT_FOUND, errno,
			"directory", "working directory %s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set_errno(err, ERROR_NOT_FOUND, ENOTDIR, "directory", "working directory %s", path);
	return 0;
}

/* Where the command starts; it must be a directory that shows inside. After the tree inside is known. */
static int resolve_directory(struct planner *planner, struct error *err)
{
	const char *said = planner->command->directory;
	const char *path = said == NULL ? default_directory(planner) : planner_expand(planner, said);
	bool exists = false;

	if (path == NULL)
		return error_set(err, ERROR_NOT_FOUND, "directory", "%s leads nowhere", said);
	if (said != NULL && planner->policy->root != ROOT_DIRECTORY) {
		if (planner_is_below(path, "/proc"))
			return check_directory(planner, path, err);
		path = planner_canonical(planner, path, &exists);
	}
	planner->plan->directory = path;
	return path == NULL ? error_no_memory(err) : check_directory(planner, path, err);
}

static int decide_identity(struct planner *planner, struct error *err)
{
	struct plan_identity *identity = &planner->plan->identity;
	const struct host *host = planner->host;
	bool lost = planner->policy->enforcement == ENFORCEMENT_BEST_EFFORT && host->facts[FACT_ID_MAP].state == FACT_NO;

	planner->outer_uid = host->uid;
	identity->inner_uid = host->uid;
	identity->inner_gid = host->gid;
	if (planner->policy->backend == BACKEND_NONE)
		return 0;
	identity->privileged = host->privileged;
	identity->mapped = host->privileged && planner->policy->identity == IDENTITY_AUTO && !lost;
	if (!identity->mapped)
		return 0;
	planner->idmap_lost = planner->policy->enforcement == ENFORCEMENT_BEST_EFFORT &&
		host->facts[FACT_IDMAPPED_MOUNT].state == FACT_NO;
	identity->inner_uid = INNER_ID;
	identity->inner_gid = INNER_ID;
	return planner_uid_base(&identity->uid_base, err);
}

static int copy_argv(struct planner *planner, struct error *err)
{
	char *const *argv = planner->command->argv;
	size_t n = 0;

	for (;; argv++) {
		char **slot = arena_push(planner->arena, &planner->plan->argv, &n);

		if (slot != NULL)
			*slot = arena_strdup(planner->arena, *argv);
		if (*argv == NULL)
			return arena_check(planner->arena, err);
	}
}

static void copy_command(struct planner *planner)
{
	const struct command *command = planner->command;
	struct plan *plan = planner->plan;

	plan->kill_after_ns = command->kill_after_ns;
	plan->steps = command->steps;
	plan->stdin_mode = command->stdin_mode;
	plan->stdin_fd = command->stdin_fd;
	plan->stdin_data = command->stdin_data;
	plan->stdin_size = command->stdin_size;
	plan->output = command->output;
	plan->out_fd = command->out_fd;
	plan->err_fd = command->err_fd;
	plan->hostname = arena_strdup(planner->arena, planner->policy->hostname);
	if (planner->host->facts[FACT_CGROUP2].state == FACT_YES && planner->host->cgroup_path[0] != '\0')
		plan->cgroup_base = arena_strdup(planner->arena, planner->host->cgroup_path);
}

int plan_filter(const struct policy *policy, struct arena *arena, struct filter *ret_filter, struct diag *diag,
	struct error *err)
{
	struct filter_request request = {.profile = policy->seccomp_profile,
		.allow = policy->seccomp_allow,
		.n_allow = policy->n_seccomp_allow,
		.deny = policy->seccomp_deny,
		.n_deny = policy->n_seccomp_deny,
		.deny_errno = policy->seccomp_errno,
		.nested_namespaces = policy->nested_namespaces};

	return filter_make(&request, arena, ret_filter, diag, err);
}

static void deny_too(struct planner *planner, struct policy *policy, const char *name)
{
	const char **list = NULL;
	size_t n = 0;

	for (size_t i = 0; i <= policy->n_seccomp_deny; i++) {
		const char **slot = arena_push(planner->arena, &list, &n);

		if (slot != NULL)
			*slot = i < policy->n_seccomp_deny ? policy->seccomp_deny[i] : name;
	}
	policy->seccomp_deny = list;
	policy->n_seccomp_deny = n;
}

/* Threat: the files of a cgroup, and who knows of which file systems else, belong to the host's uid 0. A command that
 * has this uid could mount them in namespaces of its own, and write to the group that its caller is in. */
static bool may_mount_as_root(const struct planner *planner, const struct policy *policy)
{
	return planner->outer_uid == 0 && !planner->plan->identity.mapped &&
		(policy->nested_namespaces || policy->n_seccomp_allow > 0 || policy->seccomp_profile[0] != ':');
}

static int make_filter(struct planner *planner, struct error *err)
{
	struct policy policy = *planner->policy;

	if (planner->policy->backend == BACKEND_NONE)
		return 0;
	if (planner->host->facts[FACT_SECCOMP_FILTER].state == FACT_NO)
		return 0; /* its row forbids the run */
	/* Or the command takes the CPUs back that a limit took. */
	if (policy.limits.cpus_milli != LIMIT_NONE && !planner_has_controller(planner, FACT_CGROUP_CPU))
		deny_too(planner, &policy, "sched_setaffinity");
	if (may_mount_as_root(planner, &policy)) {
		deny_too(planner, &policy, "mount");
		deny_too(planner, &policy, "fsopen");
	}
	if (arena_check(planner->arena, err) < 0)
		return -1;
	if (plan_filter(&policy, planner->arena, &planner->plan->filter, planner->diag, err) < 0)
		return -1;
	if (planner->plan->filter.forbids_start)
		diag_error(planner->diag, "seccomp: execve is refused, and with it the start of the command itself");
	/* Threat: in namespaces of its own the command can mount the cgroup file system of the group that it is in. */
	planner->plan->cgroup_inner = planner->plan->filter.user_namespaces;
	return 0;
}

static int tell_policy(struct planner *planner, struct error *err)
{
	struct enforcement *enforcement = &planner->plan->enforcement;

	enforcement->isolated = planner->policy->backend != BACKEND_NONE;
	enforcement->backend = enforcement->isolated ? "namespaces" : "none";
	enforcement->kernel = arena_strdup(planner->arena, planner->host->kernel);
	enforcement->policy_text = (struct policy_text){
		arena_strdup(planner->arena, planner->policy->text.text), planner->policy->text.secrets_at};
	for (size_t i = 0; i < planner->policy->n_warnings; i++)
		planner_warn(planner, "%s", planner->policy->warnings[i]);
	if (!enforcement->isolated)
		planner_warn(planner,
			"nothing confines the command: the backend is \"none\", and no rule about files, "
			"network or system calls is carried out");
	return arena_check(planner->arena, err);
}

/* Warnings of the filter and the paths go into the report. */
static int take_warnings(struct planner *planner, struct error *err)
{
	for (size_t i = planner->diag_before; i < planner->diag->n; i++) {
		if (planner->diag->entries[i].warning)
			planner_warn(planner, "%s", planner->diag->entries[i].text);
	}
	return arena_check(planner->arena, err);
}

/* Without a boundary the host's tree is what there is, and no rule about paths is carried out. */
static int plan_tree(struct planner *planner, struct error *err)
{
	if (planner->policy->backend == BACKEND_NONE) {
		(void)planner_add_node(planner, NODE_HOST, "/");
		return arena_check(planner->arena, err);
	}
	return planner_base_tree(planner, err) < 0 ? -1 : planner_rules(planner, err);
}

static int make(struct planner *planner, struct error *err)
{
	static int (*const steps[])(struct planner *, struct error *) = {resolve_workspace, resolve_home,
		decide_identity, tell_policy, copy_argv, plan_tree, resolve_directory, planner_environment, make_filter};

	copy_command(planner);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		if (steps[i](planner, err) < 0)
			return -1;
	}
	if (diag_check(planner->diag, ERROR_POLICY_INVALID, err) < 0 || planner_emit_mounts(planner, err) < 0)
		return -1;
	if (planner_features(planner, err) < 0 || planner_limits(planner, err) < 0 ||
		planner_requirements(planner, err) < 0)
		return -1;
	return take_warnings(planner, err);
}

int plan_new(const struct policy *policy, const struct host *host, const struct command *command,
	struct plan **ret_plan, struct diag *diag, struct error *err)
{
	struct planner planner = {
		.policy = policy, .host = host, .command = command, .diag = diag, .diag_before = diag->n};

	if (arena_new(&planner.arena, err) < 0)
		return -1;
	planner.plan = arena_alloc(planner.arena, sizeof *planner.plan);
	if (planner.plan == NULL) {
		(void)arena_free(planner.arena);
		return error_no_memory(err);
	}
	planner.plan->arena = planner.arena;
	if (make(&planner, err) < 0) {
		(void)plan_free(planner.plan);
		return -1;
	}
	*ret_plan = planner.plan;
	return 0;
}

struct plan *plan_free(struct plan *plan)
{
	if (plan != NULL)
		(void)arena_free(plan->arena);
	return NULL;
}
