/*
 * The list entries that are objects (bind, tmpfs) and the object of variables.
 *
 * Their members are no fields, because they have no origin and no text form of their own: an entry is said as a whole.
 */
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "runtime/policy/layer.h"

#define MEMBERS_MAX 4

static bool is_known(const struct policy_member *members, const char *key)
{
	for (size_t i = 0; members[i].name != NULL; i++)
		if (strcmp(members[i].name, key) == 0)
			return true;
	return false;
}

static bool tell_unknown(
	struct policy_layer *layer, const struct json_spot *spot, const struct policy_member *members, const char *key)
{
	struct json_spot member = json_spot_member(spot, key);
	const char *names[MEMBERS_MAX + 1] = {};
	const char *nearest;

	for (size_t i = 0; members[i].name != NULL; i++) {
		assert(i < MEMBERS_MAX);
		names[i] = members[i].name;
	}
	nearest = str_nearest(key, names);
	policy_layer_tell(layer, &member, "unknown field%s%s%s", nearest != NULL ? "; did you mean \"" : "",
		nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
	return false;
}

/* True where json is an object of these members only. */
static bool check_keys(
	struct policy_layer *layer, const struct json_spot *spot, json_t *json, const struct policy_member *members)
{
	bool fine = true;
	const char *key;
	json_t *value;

	if (!json_is_object(json)) {
		policy_layer_tell(layer, spot, "expected an object, found %s", json_type_name(json));
		return false;
	}
	json_object_foreach(json, key, value) if (!is_known(members, key)) fine = tell_unknown(layer, spot, members, key);
	return fine;
}

/* NULL where it is missing or no string, which is told. */
static const char *take_string(
	struct policy_layer *layer, const struct json_spot *spot, const json_t *object, const char *key)
{
	const json_t *json = json_object_get(object, key);
	struct json_spot member;

	if (json_is_string(json))
		return json_string_value(json);
	if (json == NULL) {
		policy_layer_tell(layer, spot, "\"%s\" is missing", key);
		return NULL;
	}
	member = json_spot_member(spot, key);
	policy_layer_tell(layer, &member, "expected a string, found %s", json_type_name(json));
	return NULL;
}

static bool take_write(struct policy_layer *layer, const struct json_spot *spot, const json_t *object, bool *ret_write)
{
	const json_t *json = json_object_get(object, "write");
	struct json_spot member;

	if (json == NULL || json_is_boolean(json)) {
		*ret_write = json_is_true(json);
		return true;
	}
	member = json_spot_member(spot, "write");
	policy_layer_tell(layer, &member, "expected true or false, found %s", json_type_name(json));
	return false;
}

void policy_layer_read_bind(struct policy_layer *layer, const struct json_spot *spot, json_t *json)
{
	struct policy_item item = {};
	const char *source;
	const char *target;
	bool write = false;

	if (!check_keys(layer, spot, json, policy_bind_members))
		return;
	source = take_string(layer, spot, json, "source");
	target = take_string(layer, spot, json, "target");
	if (!take_write(layer, spot, json, &write) || source == NULL || target == NULL)
		return;
	if (policy_value_bind(&layer->reading, source, target, write, &item))
		policy_layer_put(layer, FIELD_BIND, spot, &item);
	else
		policy_layer_tell(layer, spot, "%s", layer->reading.why);
}

/* A tmpfs entry's size is a size like any other, within the bounds of filesystem.tmpfs. */
static bool take_size(struct policy_layer *layer, const struct json_spot *spot, const json_t *object, uint64_t *ret_size)
{
	const struct policy_field field = {
		.kind = KIND_SIZE,
		.min = policy_fields[FIELD_TMPFS].min,
		.max = policy_fields[FIELD_TMPFS].max,
		.nullable = true,
	};
	const json_t *json = json_object_get(object, "size");
	struct policy_item size = {};
	struct json_spot member;

	*ret_size = LIMIT_NONE;
	if (json == NULL)
		return true;
	if (policy_value_from_json(&layer->reading, &field, json, &size)) {
		*ret_size = size.number;
		return true;
	}
	member = json_spot_member(spot, "size");
	policy_layer_tell(layer, &member, "%s", layer->reading.why);
	return false;
}

void policy_layer_read_tmpfs(struct policy_layer *layer, const struct json_spot *spot, json_t *json)
{
	struct policy_item item = {};
	uint64_t size = 0;
	const char *path;

	if (!check_keys(layer, spot, json, policy_tmpfs_members))
		return;
	path = take_string(layer, spot, json, "path");
	if (!take_size(layer, spot, json, &size) || path == NULL)
		return;
	if (policy_value_tmpfs(&layer->reading, path, size, &item))
		policy_layer_put(layer, FIELD_TMPFS, spot, &item);
	else
		policy_layer_tell(layer, spot, "%s", layer->reading.why);
}

static void read_variable(struct policy_layer *layer, const struct json_spot *spot, const char *name, const json_t *json)
{
	struct json_spot member = json_spot_member(spot, name);
	struct policy_item item = {};

	if (!json_is_string(json))
		policy_layer_tell(layer, &member, "expected a string, found %s", json_type_name(json));
	else if (policy_value_variable(&layer->reading, name, json_string_value(json), &item))
		policy_layer_put(layer, FIELD_ENV_SET, &member, &item);
	else
		policy_layer_tell(layer, &member, "%s", layer->reading.why);
}

void policy_layer_read_variables(struct policy_layer *layer, const struct json_spot *spot, json_t *json)
{
	const char *name;
	json_t *value;

	if (!json_is_object(json)) {
		policy_layer_tell(layer, spot, "expected an object, found %s", json_type_name(json));
		return;
	}
	if (json_object_size(json) > POLICY_KEYED_MAX) {
		policy_layer_tell(layer, spot, "%zu variables are too many; at most %d", json_object_size(json),
			POLICY_KEYED_MAX);
		return;
	}
	json_object_foreach(json, name, value) read_variable(layer, spot, name, value);
}
