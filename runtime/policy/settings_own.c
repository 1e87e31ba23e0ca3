/*
 * Settings as a policy that needs no file: what files and flags said, merged, on top of the built-in that they lie on. It
 * resolves to the same policy, since lists are appended to in the same order, an entry that took the place of a built-in's
 * takes it again, and a built-in's own entries keep what is special about them (they are skipped where they are missing).
 *
 * Threat: values of variables may be secrets, and a policy's text is seen in the list of processes. They are handed out
 * beside the text. Those of built-ins are public.
 */
#include "runtime/policy/settings_own.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/policy/settings_json.h"
#include "runtime/policy/value.h"

static int check_text(const struct policy_field *field, const char *text, struct error *err)
{
	char shown[100];

	if (text == NULL || str_utf8_valid(text, strlen(text)))
		return 0;
	/* A variable's value is never shown. */
	if (field->kind == KIND_VARIABLES)
		return error_set(err, ERROR_USAGE, "policy", "%s: a variable is not UTF-8, which JSON cannot carry",
			field->name);
	return error_set(err, ERROR_USAGE, "policy", "%s: \"%s\" is not UTF-8, which JSON cannot carry", field->name,
		str_printable(text, shown, sizeof shown));
}

static int check_item(enum policy_field_id id, const struct policy_item *item, struct error *err)
{
	const struct policy_field *field = &policy_fields[id];

	return check_text(field, item->text, err) < 0 ? -1 : check_text(field, item->second, err);
}

static json_t *list_json(const struct policy_setting *setting, const struct policy_field *field)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; i < setting->n; i++)
		if (!setting->items[i].origin.builtin &&
			json_array_append_new(list, policy_value_to_json(field, &setting->items[i])) < 0)
			return NULL;
	return json_incref(list);
}

static bool has_own(const struct policy_setting *setting)
{
	for (size_t i = 0; i < setting->n; i++)
		if (!setting->items[i].origin.builtin)
			return true;
	return false;
}

static int put_field(json_t *root, const struct policy_setting *setting, const struct policy_field *field)
{
	const char *last;
	json_t *parent = policy_settings_parent(root, field->name, &last);

	if (policy_kind_is_list(field->kind))
		return json_put(parent, last, list_json(setting, field));
	return json_put(parent, last, policy_value_to_json(field, &setting->items[0]));
}

static int push_pass(const struct policy_setting *setting, struct arena *arena, struct policy_own *own)
{
	own->pass_cleared = true;
	for (size_t i = 0; i < setting->n; i++) {
		const char **slot = arena_push(arena, &own->pass, &own->n_pass);

		if (slot == NULL)
			return -1;
		*slot = arena_strdup(arena, setting->items[i].text);
	}
	return 0;
}

static int push_variables(const struct policy_setting *setting, struct arena *arena, struct policy_own *own)
{
	for (size_t i = 0; i < setting->n; i++) {
		const struct policy_item *item = &setting->items[i];
		struct policy_variable *slot;

		if (item->origin.builtin)
			continue;
		slot = arena_push(arena, &own->set, &own->n_set);
		if (slot == NULL)
			return -1;
		*slot = (struct policy_variable){arena_strdup(arena, item->text), arena_strdup(arena, item->second)};
	}
	return 0;
}

static int take_field(const struct policy_settings *settings, enum policy_field_id id, json_t *root,
	struct arena *arena, struct policy_own *own, struct error *err)
{
	const struct policy_setting *setting = &settings->fields[id];
	int r = 0;

	for (size_t i = 0; i < setting->n; i++)
		if (check_item(id, &setting->items[i], err) < 0)
			return -1;
	if (setting->cleared && id != FIELD_ENV_PASS)
		return error_set(err, ERROR_UNSUPPORTED, "policy",
			"%s was emptied, which no option of the command line says", policy_fields[id].name);
	if (setting->cleared)
		r = push_pass(setting, arena, own);
	else if (id == FIELD_ENV_SET)
		r = push_variables(setting, arena, own);
	else if (has_own(setting))
		r = put_field(root, setting, &policy_fields[id]);
	return r < 0 ? error_no_memory(err) : 0;
}

int policy_settings_own(
	const struct policy_settings *settings, struct arena *arena, struct policy_own *ret_own, struct error *err)
{
	cleanup_json json_t *root = json_pack("{s:i, s:s}", "version", POLICY_VERSION, "extends", settings->base);
	cleanup_free char *text = NULL;
	struct policy_own own = {};

	for (unsigned id = 0; id < _FIELD_COUNT; id++)
		if (take_field(settings, (enum policy_field_id)id, root, arena, &own, err) < 0)
			return -1;
	text = root != NULL ? json_to_string(root, 0) : NULL;
	if (text == NULL)
		return error_no_memory(err);
	own.text = arena_strdup(arena, text);
	*ret_own = own;
	return arena_check(arena, err);
}
