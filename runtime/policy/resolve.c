/*
 * Settings become the policy.
 *
 * Everything goes by the table of fields: its offset says where a value belongs, its kind how it is stored. A scalar
 * without a value would be a hole in profiles/read-only.jsonc, on which every policy stands, and is an error rather
 * than a zero, since zero means something else for each field.
 */
#include "runtime/policy/resolve.h"

#include <string.h>

#include "runtime/policy/check.h"
#include "runtime/policy/settings_json.h"

typedef void (*store_fn)(struct arena *, struct policy *, const struct policy_field *, const struct policy_item *item);

static void *slot(struct policy *policy, size_t offset)
{
	return (char *)policy + offset;
}

static void store_word(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	unsigned word = (unsigned)item->number;

	_Static_assert(sizeof(enum policy_backend) == sizeof word, "enums are stored as unsigned");
	(void)arena;
	memcpy(slot(policy, field->offset), &word, sizeof word);
}

static void store_bool(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	bool value = item->number != 0;

	(void)arena;
	memcpy(slot(policy, field->offset), &value, sizeof value);
}

static void store_root(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	store_word(arena, policy, field, item);
	policy->root_directory = item->text;
}

static void store_number(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	(void)arena;
	memcpy(slot(policy, field->offset), &item->number, sizeof item->number);
}

static void store_text(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	(void)arena;
	memcpy(slot(policy, field->offset), &item->text, sizeof item->text);
}

static void store_errno(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	int number = (int)item->number;

	(void)arena;
	memcpy(slot(policy, field->offset), &number, sizeof number);
}

static void push_path(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	struct policy_path *path = arena_push(arena, &policy->paths, &policy->n_paths);

	if (path != NULL)
		*path = (struct policy_path){
			.access = field->access,
			.path = item->text,
			.optional = item->origin.builtin,
			.secret = item->origin.secret,
		};
}

static void push_text(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	const char **text =
		arena_push_raw(arena, slot(policy, field->offset), slot(policy, field->n_offset), sizeof *text);

	if (text != NULL)
		*text = item->text;
}

static void push_requirement(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	struct policy_requirement *requirement = arena_push(arena, &policy->require, &policy->n_require);

	(void)field;
	if (requirement != NULL)
		*requirement = (struct policy_requirement){item->text, item->second};
}

static void push_bind(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	struct policy_bind *bind = arena_push(arena, &policy->binds, &policy->n_binds);

	(void)field;
	if (bind != NULL)
		*bind = (struct policy_bind){.source = item->second, .target = item->text, .write = item->flag};
}

static void push_tmpfs(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	struct policy_tmpfs *tmpfs = arena_push(arena, &policy->tmpfs, &policy->n_tmpfs);

	(void)field;
	if (tmpfs != NULL)
		*tmpfs = (struct policy_tmpfs){item->text, item->number};
}

static void push_variable(
	struct arena *arena, struct policy *policy, const struct policy_field *field, const struct policy_item *item)
{
	struct policy_variable *variable = arena_push(arena, &policy->env_set, &policy->n_env_set);

	(void)field;
	if (variable != NULL)
		*variable = (struct policy_variable){item->text, item->second};
}

static const store_fn stores[_KIND_COUNT] = {
	[KIND_WORD] = store_word,
	[KIND_BOOL] = store_bool,
	[KIND_ROOT] = store_root,
	[KIND_TIME] = store_number,
	[KIND_SIZE] = store_number,
	[KIND_COUNT] = store_number,
	[KIND_MILLI] = store_number,
	[KIND_HOSTNAME] = store_text,
	[KIND_PROFILE] = store_text,
	[KIND_ERRNO] = store_errno,
	[KIND_PATHS] = push_path,
	[KIND_PATTERNS] = push_text,
	[KIND_SYSCALLS] = push_text,
	[KIND_REQUIREMENTS] = push_requirement,
	[KIND_BINDS] = push_bind,
	[KIND_TMPFS] = push_tmpfs,
	[KIND_VARIABLES] = push_variable,
};

static int store_all(const struct policy_settings *settings, struct arena *arena, struct policy *policy, struct error *err)
{
	for (unsigned id = 0; id < _FIELD_COUNT; id++) {
		const struct policy_field *field = &policy_fields[id];
		size_t n = policy_settings_count(settings, (enum policy_field_id)id);

		if (n == 0 && !policy_kind_is_list(field->kind))
			return error_set(err, ERROR_INTERNAL, "policy", "%s: no value", field->name);
		for (size_t i = 0; i < n; i++) {
			struct policy_item item = policy_settings_item(settings, (enum policy_field_id)id, i);

			stores[field->kind](arena, policy, field, &item);
		}
	}
	return arena_check(arena, err);
}

static int set_text(const struct policy_settings *settings, struct arena *arena, struct policy *policy, struct error *err)
{
	cleanup_buf struct buf text = {};

	if (policy_settings_canonical(settings, &text, &policy->text.secrets_at, err) < 0)
		return -1;
	policy->text.text = arena_strdup(arena, buf_str(&text));
	return arena_check(arena, err);
}

static int set_warnings(const struct diag *diag, struct arena *arena, struct policy *policy, struct error *err)
{
	for (size_t i = 0; i < diag->n; i++) {
		const char **text;

		if (!diag->entries[i].warning)
			continue;
		text = arena_push(arena, &policy->warnings, &policy->n_warnings);
		if (text != NULL)
			*text = arena_strdup(arena, diag->entries[i].text);
	}
	return arena_check(arena, err);
}

/* What the check found goes on to the caller's list. */
static void pass_on(const struct diag *found, struct diag *diag)
{
	for (size_t i = 0; i < found->n; i++) {
		if (found->entries[i].warning)
			diag_warning(diag, "%s", found->entries[i].text);
		else
			diag_error(diag, "%s", found->entries[i].text);
	}
}

int policy_resolve(const struct policy_settings *settings, const char *name, struct arena *arena,
	const struct policy **ret_policy, struct diag *diag, struct error *err)
{
	struct policy *policy = arena_alloc(arena, sizeof *policy);
	cleanup_diag struct diag found = {};

	if (policy == NULL)
		return error_no_memory(err);
	if (policy_check(settings, &found, err) < 0)
		return -1;
	pass_on(&found, diag);
	if (diag_check(&found, ERROR_POLICY_INVALID, err) < 0)
		return -1;
	policy->name = name;
	if (store_all(settings, arena, policy, err) < 0 || set_text(settings, arena, policy, err) < 0 ||
		set_warnings(&found, arena, policy, err) < 0)
		return -1;
	*ret_policy = policy;
	return 0;
}
