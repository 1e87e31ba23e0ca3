/*
 * The schema is made of the table of fields, as everything else is: what it has is what the parser takes. The default
 * of a single value is that of :read-only, on which every policy stands; of a list there is none to tell, for what is
 * given is appended to what lies below.
 *
 * tests/cli/cases/schema.py holds it against the parser, both ways.
 */
#include "runtime/policy/schema.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "runtime/policy/builtin.h"
#include "runtime/policy/load.h"
#include "runtime/policy/schema_kind.h"
#include "runtime/policy/settings.h"
#include "runtime/policy/value.h"
#include "runtime/policy/value_take.h"

#define DRAFT        "https://json-schema.org/draft/2020-12/schema"
#define BASE         ":read-only"
#define BUILTINS_MAX 16

static const char *about(const struct policy_name *names, const char *name)
{
	while (names->name != NULL && strcmp(names->name, name) != 0)
		names++;
	return names->about;
}

static json_t *object_schema(const char *description)
{
	return json_pack("{s:s, s:s, s:{}, s:b}", "description", description, "type", "object", "properties",
		"additionalProperties", false);
}

/* The properties of the section that the field `name` is in, made on the way; borrowed. */
static json_t *find_section(json_t *root, const char *name, const char **ret_last)
{
	json_t *properties = json_object_get(root, "properties");
	const char *part = name;
	const char *dot;

	while ((dot = strchr(part, '.')) != NULL && properties != NULL) {
		char section[32], key[32];
		json_t *object;

		assert((size_t)(dot - name) < sizeof section);
		memcpy(section, name, (size_t)(dot - name));
		section[dot - name] = '\0';
		memcpy(key, part, (size_t)(dot - part));
		key[dot - part] = '\0';
		object = json_object_get(properties, key);
		if (object == NULL && json_put(properties, key, object_schema(about(policy_sections, section))) == 0)
			object = json_object_get(properties, key);
		properties = json_object_get(object, "properties");
		part = dot + 1;
	}
	*ret_last = part;
	return properties;
}

static json_t *variables_schema(const struct policy_field *field)
{
	return json_pack("{s:s, s:i, s:{s:s, s:i}, s:o}", "type", "object", "maxProperties", POLICY_KEYED_MAX,
		"propertyNames", "pattern", "^[^=]+$", "maxLength", POLICY_VARIABLE_MAX - 2, "additionalProperties",
		policy_schema_kind(field));
}

static json_t *value_schema(const struct policy_field *field)
{
	if (field->kind == KIND_VARIABLES)
		return variables_schema(field);
	if (!policy_kind_is_list(field->kind))
		return policy_schema_kind(field);
	return json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems",
		policy_kind_is_keyed(field->kind) ? POLICY_KEYED_MAX : POLICY_LIST_MAX, "items",
		policy_schema_kind(field));
}

/* What a person needs to know beside the field's own words. */
static const char *hint(const struct policy_field *field)
{
	static const char *const hints[_KIND_COUNT] = {
		[KIND_TIME] = " Like \"500ms\", \"30s\", \"5m\" or \"1h\"; a number is seconds.",
		[KIND_SIZE] = " Like \"64K\", \"512M\" or \"1.5G\", where 1K is 1024; a number is bytes.",
	};

	return hints[field->kind] != NULL ? hints[field->kind] : "";
}

static const char *hint_of_null(const struct policy_field *field)
{
	return field->nullable && !policy_kind_is_list(field->kind) ? " null: no limit." : "";
}

static json_t *field_schema(const struct policy_settings *base, enum policy_field_id id)
{
	const struct policy_field *field = &policy_fields[id];
	cleanup_json json_t *json = json_pack(
		"{s:o}", "description", json_sprintf("%s%s%s", field->about, hint(field), hint_of_null(field)));
	cleanup_json json_t *value = value_schema(field);

	if (json == NULL || value == NULL || json_object_update(json, value) < 0)
		return NULL;
	if (policy_kind_is_list(field->kind) || policy_settings_count(base, id) == 0)
		return json_incref(json);
	if (json_put(json, "default", policy_value_to_json(field, &base->fields[id].items[0])) < 0)
		return NULL;
	return json_incref(json);
}

static json_t *extends_schema(void)
{
	const char *names[BUILTINS_MAX + 1] = {};

	for (size_t i = 0; policy_builtins[i].name != NULL; i++) {
		assert(i < BUILTINS_MAX);
		names[i] = policy_builtins[i].name;
	}
	return policy_schema_name(names);
}

static json_t *document_key_schema(const char *name)
{
	if (strcmp(name, "version") == 0)
		return json_pack("{s:i}", "const", POLICY_VERSION);
	return strcmp(name, "extends") == 0 ? extends_schema() : json_pack("{s:s}", "type", "string");
}

static int put_document_keys(json_t *properties)
{
	for (const struct policy_name *key = policy_document_keys; key->name != NULL; key++) {
		json_t *json = document_key_schema(key->name);

		if (json_put(properties, key->name, json) < 0 || json_put(json, "description", json_text(key->about)) < 0)
			return -1;
	}
	return 0;
}

/* NULL when memory is out. */
static json_t *schema(const struct policy_settings *base, const char *const *syscalls)
{
	cleanup_json json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:{}, s:b, s:o}", "$schema", DRAFT, "title",
		"pinfold policy", "description", "What a command run by pinfold may do.", "type", "object",
		"properties", "additionalProperties", false, "$defs", policy_schema_definitions(syscalls));

	if (put_document_keys(json_object_get(root, "properties")) < 0)
		return NULL;
	for (unsigned id = 0; id < _FIELD_COUNT; id++) {
		const char *last;
		json_t *properties = find_section(root, policy_fields[id].name, &last);

		if (json_put(properties, last, field_schema(base, (enum policy_field_id)id)) < 0)
			return NULL;
	}
	return json_incref(root);
}

static int load_base(struct policy_settings *settings, struct error *err)
{
	cleanup_diag struct diag diag = {};

	policy_load_name(settings, BASE, &diag);
	if (arena_check(settings->arena, err) < 0)
		return -1;
	return diag_check(&diag, ERROR_INTERNAL, err);
}

int policy_schema_json(const char *const *syscalls, char **ret_json, struct error *err)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_json json_t *json = NULL;
	struct policy_settings base = {};
	char *text;

	if (arena_new(&arena, err) < 0)
		return -1;
	base.arena = arena;
	if (load_base(&base, err) < 0)
		return -1;
	json = schema(&base, syscalls);
	text = json != NULL ? json_to_string(json, 1) : NULL;
	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}
