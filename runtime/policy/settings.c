/*
 * How layers are merged: scalars replace, lists append, entries with a key (a variable, a mount target) replace the
 * entry of the same key.
 *
 * Threat: a policy that extends another one must not be able to take back what that one denies. There is no operation
 * here that removes an entry from `deny` or `protect`: putting only ever appends, and clearing refuses them.
 *
 * An entry of a person's that repeats one of a built-in takes its place, so that what was asked for by name is not
 * skipped silently where it is absent, as a built-in's entries are.
 */
#include "runtime/policy/settings.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "runtime/policy/builtin.h"

size_t policy_settings_count(const struct policy_settings *settings, enum policy_field_id id)
{
	return settings->fields[id].n + (id == FIELD_DENY ? policy_n_secret_paths : 0);
}

struct policy_item policy_settings_item(const struct policy_settings *settings, enum policy_field_id id, size_t index)
{
	size_t n_secrets = id == FIELD_DENY ? policy_n_secret_paths : 0;

	if (index >= n_secrets)
		return settings->fields[id].items[index - n_secrets];
	return (struct policy_item){
		.origin = {.label = "built-in secrets", .builtin = true, .secret = true},
		.text = policy_secret_paths[index],
	};
}

static bool same_entry(const struct policy_item *a, const struct policy_item *b)
{
	return str_equal(a->text, b->text) && str_equal(a->second, b->second);
}

static struct policy_item *find_key(const struct policy_setting *setting, const char *key)
{
	for (size_t i = 0; i < setting->n; i++)
		if (strcmp(setting->items[i].text, key) == 0)
			return &setting->items[i];
	return NULL;
}

/* Only the head is looked at: the entries of built-ins, which are always the first layers and few. */
static struct policy_item *find_builtin(const struct policy_setting *setting, const struct policy_item *item)
{
	for (size_t i = 0; i < setting->n_builtin; i++)
		if (same_entry(&setting->items[i], item))
			return &setting->items[i];
	return NULL;
}

static bool append(struct arena *arena, struct policy_setting *setting, size_t max, const struct policy_item *item)
{
	struct policy_item *slot;

	if (setting->n - setting->n_builtin >= max)
		return false;
	slot = arena_push(arena, &setting->items, &setting->n);
	if (slot == NULL)
		return true;
	*slot = *item;
	if (item->origin.builtin && setting->n_builtin + 1 == setting->n)
		setting->n_builtin++;
	return true;
}

static bool put_keyed(struct arena *arena, struct policy_setting *setting, const struct policy_item *item)
{
	struct policy_item *old = find_key(setting, item->text);

	if (old == NULL)
		return append(arena, setting, POLICY_KEYED_MAX, item);
	*old = *item;
	return true;
}

static bool put_entry(struct arena *arena, struct policy_setting *setting, const struct policy_item *item)
{
	struct policy_item *old = item->origin.builtin ? NULL : find_builtin(setting, item);

	if (old == NULL)
		return append(arena, setting, POLICY_LIST_MAX, item);
	*old = *item;
	return true;
}

bool policy_settings_put(struct policy_settings *settings, enum policy_field_id id, const struct policy_item *item)
{
	struct policy_setting *setting = &settings->fields[id];
	enum policy_kind kind = policy_fields[id].kind;

	if (policy_kind_is_keyed(kind))
		return put_keyed(settings->arena, setting, item);
	if (policy_kind_is_list(kind))
		return put_entry(settings->arena, setting, item);
	if (setting->n == 0)
		return append(settings->arena, setting, 1, item);
	setting->items[0] = *item;
	return true;
}

void policy_settings_clear(struct policy_settings *settings, enum policy_field_id id)
{
	assert(policy_kind_is_list(policy_fields[id].kind) && !policy_fields[id].kept);
	settings->fields[id] = (struct policy_setting){.cleared = true};
}

void policy_origin_place(const struct policy_origin *origin, struct buf *buf)
{
	buf_append_str(buf, origin->label);
	if (origin->line != 0)
		buf_printf(buf, ":%u:%u", origin->line, origin->column);
}

void policy_origin_text(const struct policy_origin *origin, struct buf *buf)
{
	buf_append_str(buf, origin->label);
	if (origin->line != 0)
		buf_printf(buf, ":%u", origin->line);
}
