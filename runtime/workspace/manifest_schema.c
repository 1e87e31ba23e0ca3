/*
 * The schema is made of the tables that the parser reads by: what it has is what the parser takes. tests/manifest holds
 * it against the parser.
 */
#include <string.h>

#include "base/json.h"
#include "runtime/workspace/manifest_read.h"

#define DRAFT "https://json-schema.org/draft/2020-12/schema"

/* Of a place in the workspace: whole names, none of them "." or "..", no backslash, no drive letter. */
#define DESTINATION "^(?![A-Za-z]:)(?!\\.{1,2}(/|$))[^/\\\\]+(/(?!\\.{1,2}(/|$))[^/\\\\]+)*$"

static json_t *type_schema(enum manifest_type type)
{
	return json_pack("{s:s}", "const", manifest_type_name(type));
}

static json_t *key_schema(const struct manifest_key *key, enum manifest_type type)
{
	json_t *json = key->schema != NULL ? json_loads(key->schema, 0, NULL) : type_schema(type);

	if (json != NULL && json_put(json, "description", json_string(key->about)) < 0) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static json_t *entry_schema(enum manifest_type type)
{
	cleanup_json json_t *json = json_pack(
		"{s:s, s:{}, s:[], s:b}", "type", "object", "properties", "required", "additionalProperties", false);

	for (const struct manifest_key *key = manifest_entry_keys; key->name != NULL; key++) {
		if ((key->types & 1u << type) == 0)
			continue;
		if (json_put(json_object_get(json, "properties"), key->name, key_schema(key, type)) < 0)
			return NULL;
		if ((key->required & 1u << type) != 0 &&
			json_array_append_new(json_object_get(json, "required"), json_string(key->name)) < 0)
			return NULL;
	}
	return json_incref(json);
}

static json_t *entries_schema(void)
{
	cleanup_json json_t *any = json_array();

	for (int type = 0; type < _MANIFEST_TYPE_COUNT; type++)
		if (json_array_append_new(any, entry_schema((enum manifest_type)type)) < 0)
			return NULL;
	return json_pack("{s:s, s:i, s:{s:s, s:i}, s:{s:O}}", "type", "object", "maxProperties", MANIFEST_ENTRIES_MAX,
		"propertyNames", "pattern", DESTINATION, "maxLength", 4095, "additionalProperties", "oneOf", any);
}

static json_t *variable_schema(void)
{
	return json_pack("{s:[{s:s}, {s:s, s:{s:{s:s, s:s, s:s}}, s:[s], s:b}]}", "oneOf", "type", "string", "type",
		"object", "properties", "from", "type", "string", "pattern", "^(fd:[0-9]+|file:.+|env:[^=]+)$",
		"description", "Where the value is when a command starts: \"fd:N\", \"file:PATH\" or \"env:NAME\".",
		"required", "from", "additionalProperties", false);
}

static json_t *environment_schema(void)
{
	return json_pack("{s:s, s:s, s:i, s:{s:s}, s:o}", "description",
		"Variables of the commands that are run in the workspace: values, or references to secrets.", "type",
		"object", "maxProperties", MANIFEST_VARIABLES_MAX, "propertyNames", "pattern", "^[^=]+$",
		"additionalProperties", variable_schema());
}

/* Lists that only an application may fill. */
static json_t *empty_list_schema(const char *about)
{
	return json_pack("{s:s, s:s, s:i}", "description", about, "type", "array", "maxItems", 0);
}

static json_t *properties_schema(void)
{
	return json_pack("{s:{s:s, s:i}, s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s, s:s}, s:o, s:o, s:o, s:o}", "version",
		"description", "The version of the manifest language.", "const", MANIFEST_VERSION, "description",
		"description", "For people.", "type", "string", "$schema", "description", "For editors.", "type",
		"string", "entries", "description", "What is in the workspace: path -> entry.", "$ref",
		"#/$defs/entries", "environment", environment_schema(), "extra_path_grants",
		empty_list_schema("A manifest grants nothing; may stand there when it is empty."), "users",
		empty_list_schema("Not supported."), "groups", empty_list_schema("Not supported."));
}

int manifest_schema_json(char **ret_json, struct error *err)
{
	cleanup_json json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:[s], s:b, s:{s:o}}", "$schema", DRAFT,
		"title", "pinfold manifest", "description", "What a workspace is made of.", "type", "object",
		"properties", properties_schema(), "required", "version", "additionalProperties", false, "$defs",
		"entries", entries_schema());
	char *text = root != NULL ? json_to_string(root, 1) : NULL;

	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}
