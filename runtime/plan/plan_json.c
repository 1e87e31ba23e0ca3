/*
 * The plan for people and tests (`run --dry-run`): what would be mounted, limited and enforced. Values of the
 * environment may be secrets: only names are shown.
 */
#include <linux/sched.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/plan/plan.h"

static json_t *strings(char *const *list)
{
	json_t *array = json_array();

	for (; array != NULL && *list != NULL; list++) {
		if (json_array_append_new(array, json_text(*list)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *names(char *const *environment)
{
	json_t *array = json_array();

	for (; array != NULL && *environment != NULL; environment++) {
		json_t *name = json_stringn(*environment, strcspn(*environment, "="));

		if (json_array_append_new(array, name != NULL ? name : json_string("?")) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *namespaces(uint64_t flags)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} table[] = {{CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mount"}, {CLONE_NEWPID, "pid"}, {CLONE_NEWNET, "network"},
		{CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"}, {CLONE_NEWCGROUP, "cgroup"}};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if ((flags & table[i].flag) != 0)
			(void)json_array_append_new(array, json_string(table[i].name));
	}
	return array;
}

static json_t *mount_flags(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *name;
	} table[] = {{MOUNT_WRITE, "write"}, {MOUNT_DEVICE, "device"}, {MOUNT_NOEXEC, "noexec"}, {MOUNT_IDMAP, "idmap"},
		{MOUNT_TRY_IDMAP, "try_idmap"}, {MOUNT_OPTIONAL, "optional"}, {MOUNT_MONITOR, "monitor"}};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if ((flags & table[i].flag) != 0)
			(void)json_array_append_new(array, json_string(table[i].name));
	}
	return array;
}

static json_t *mount_json(const struct plan *plan, const struct mount_op *op)
{
	json_t *object = json_object();

	(void)json_put(object, "kind", json_text(mount_kind_name(op->kind)));
	(void)json_put(object, "target", json_text(op->target));
	if (op->source != NULL)
		(void)json_put(object, "source", json_text(op->source));
	if (op->size_bytes != 0)
		(void)json_put(object, "size_bytes", json_u64(op->size_bytes));
	if (op->owner != 0)
		(void)json_put(object, "owner_uid", json_u64(plan->identity.owners[op->owner - 1].uid));
	(void)json_put(object, "flags", mount_flags(op->flags));
	return object;
}

static json_t *mounts_json(const struct plan *plan)
{
	const struct mount_plan *mounts = &plan->mounts;
	json_t *array = json_array();

	for (size_t i = 0; i < mounts->n_ops; i++)
		(void)json_array_append_new(array, mount_json(plan, &mounts->ops[i]));
	return array;
}

static json_t *rlimits_json(const struct plan *plan)
{
	json_t *object = json_object();

	for (size_t i = 0; i < plan->n_rlimits; i++)
		(void)json_put(object, plan->rlimits[i].name, json_u64(plan->rlimits[i].value.rlim_cur));
	return object;
}

static json_t *limit_json(uint64_t value)
{
	return value == GROUP_NO_LIMIT ? json_null() : json_u64(value);
}

static json_t *group_json(const struct plan *plan)
{
	const struct group_limits *limits = &plan->group_limits;
	json_t *object = json_object();

	(void)json_put(object, "base", json_text(plan->cgroup_base));
	(void)json_put(object, "inner", json_boolean(plan->cgroup_inner));
	(void)json_put(object, "memory_bytes", limit_json(limits->memory_bytes));
	(void)json_put(object, "swap_bytes", limit_json(limits->swap_bytes));
	(void)json_put(object, "processes", limit_json(limits->processes));
	(void)json_put(object, "cpus_milli", limit_json(limits->cpus_milli));
	return object;
}

static json_t *guards_json(const struct plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_guards; i++) {
		char *path = NULL;

		if (asprintf(&path, "%s/%s", plan->guards[i].root, plan->guards[i].relative) < 0)
			return array;
		(void)json_array_append_new(array, json_text(path));
		free(path);
	}
	return array;
}

static json_t *landlock_json(const struct landlock_plan *fence)
{
	json_t *object = json_object();
	json_t *writable = json_array();

	if (!landlock_is_asked(fence)) {
		json_decref(object);
		json_decref(writable);
		return json_null();
	}
	for (size_t i = 0; i < fence->n_rules; i++)
		(void)json_array_append_new(writable, json_text(fence->rules[i].path));
	(void)json_put(object, "files", json_boolean(fence->files != 0));
	(void)json_put(object, "tcp", json_boolean(fence->tcp != 0));
	(void)json_put(object, "scopes", json_boolean(fence->scopes != 0));
	(void)json_put(object, "writable", writable);
	return object;
}

static json_t *identity_json(const struct plan_identity *identity)
{
	json_t *object = json_object();

	(void)json_put(object, "uid", json_u64(identity->inner_uid));
	(void)json_put(object, "gid", json_u64(identity->inner_gid));
	(void)json_put(object, "mapped", json_boolean(identity->mapped));
	(void)json_put(object, "uid_base", identity->mapped ? json_u64(identity->uid_base) : json_null());
	return object;
}

int plan_json(const struct plan *plan, char **ret_json, struct error *err)
{
	json_t *enforcement = NULL;
	cleanup_json json_t *object = json_object();
	char *text;

	if (enforcement_json(&plan->enforcement, &enforcement, err) < 0)
		return -1;
	(void)json_put(object, "schema", json_string("pinfold.plan/1"));
	(void)json_put(object, "argv", strings(plan->argv));
	(void)json_put(object, "environment", names(plan->environment));
	(void)json_put(object, "cwd", json_text(plan->directory));
	(void)json_put(object, "workspace", json_text(plan->workspace));
	(void)json_put(object, "namespaces", namespaces(plan->namespaces));
	(void)json_put(object, "identity", identity_json(&plan->identity));
	(void)json_put(object, "host_root", json_boolean(plan->mounts.host_root));
	(void)json_put(object, "mounts", mounts_json(plan));
	(void)json_put(object, "landlock", landlock_json(&plan->landlock));
	(void)json_put(object, "rlimits", rlimits_json(plan));
	(void)json_put(object, "guards", guards_json(plan));
	(void)json_put(object, "filter_instructions", json_u64(plan->filter.n));
	(void)json_put(object, "cgroup", plan->cgroup_base == NULL ? json_null() : group_json(plan));
	(void)json_put(object, "enforcement", enforcement);
	text = json_object_size(object) == 15 ? json_to_string(object, 1) : NULL;
	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}
