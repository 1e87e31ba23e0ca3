/*
 * One JSON text becomes settings.
 *
 * The walk goes through the object as it is written, so that mistakes come out in the order of the text, and asks the
 * table of fields what each name is: a field, a section above fields, or a mistake. It never stops at a mistake;
 * whoever started it looks at the diag afterwards.
 *
 * Threat: the text may be hostile. It is at most a megabyte and its depth was bounded when it was parsed; here only
 * lists can grow, and they are bounded.
 */
#include "runtime/policy/layer.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/str.h"

#define DOCUMENT_KEYS_MAX 8

static void read_section(struct policy_layer *layer, const struct json_spot *spot, json_t *object);

void policy_layer_tell(struct policy_layer *layer, const struct json_spot *spot, const char *fmt, ...)
{
	const struct json_text_source source = {layer->label, layer->places, layer->diag};
	va_list args;

	va_start(args, fmt);
	json_spot_tellv(&source, spot, fmt, args);
	va_end(args);
}

void policy_layer_put(struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot,
	const struct policy_item *item)
{
	struct policy_item placed = *item;

	placed.origin = layer->origin;
	if (!layer->origin.builtin) {
		const struct json_text_source source = {layer->label, layer->places, layer->diag};
		struct json_place place = json_spot_place(&source, spot);

		placed.origin.line = place.line;
		placed.origin.column = place.column;
	}
	if (!policy_settings_put(layer->settings, id, &placed))
		policy_layer_tell(layer, spot, "too many entries");
}

static void read_value(
	struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot, const json_t *json)
{
	struct policy_item item = {};

	if (policy_value_from_json(&layer->reading, &policy_fields[id], json, &item))
		policy_layer_put(layer, id, spot, &item);
	else
		policy_layer_tell(layer, spot, "%s", layer->reading.why);
}

static void read_element(struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot, json_t *json)
{
	if (policy_fields[id].kind == KIND_BINDS)
		policy_layer_read_bind(layer, spot, json);
	else if (policy_fields[id].kind == KIND_TMPFS)
		policy_layer_read_tmpfs(layer, spot, json);
	else
		read_value(layer, id, spot, json);
}

static void read_list(
	struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot, const json_t *json)
{
	size_t n = json_array_size(json);
	size_t n_max = policy_kind_is_keyed(policy_fields[id].kind) ? POLICY_KEYED_MAX : POLICY_LIST_MAX;

	if (!json_is_array(json)) {
		policy_layer_tell(layer, spot, "expected a list, found %s", json_type_name(json));
		return;
	}
	if (n > n_max) {
		policy_layer_tell(layer, spot, "%zu entries are too many; at most %zu", n, n_max);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct json_spot element = json_spot_element(spot, i);

		read_element(layer, id, &element, json_array_get(json, i));
	}
}

static void read_field(struct policy_layer *layer, enum policy_field_id id, const struct json_spot *spot, json_t *json)
{
	enum policy_kind kind = policy_fields[id].kind;

	if (kind == KIND_VARIABLES)
		policy_layer_read_variables(layer, spot, json);
	else if (policy_kind_is_list(kind))
		read_list(layer, id, spot, json);
	else
		read_value(layer, id, spot, json);
}

static void read_version(struct policy_layer *layer, const struct json_spot *spot, const json_t *json)
{
	if (!json_is_number(json))
		policy_layer_tell(layer, spot, "expected %d, found %s", POLICY_VERSION, json_type_name(json));
	else if (json_number_value(json) < POLICY_VERSION || json_number_value(json) > POLICY_VERSION)
		policy_layer_tell(layer, spot, "version %g is not known; this is version %d", json_number_value(json),
			POLICY_VERSION);
}

static void read_document_key(
	struct policy_layer *layer, const struct json_spot *spot, const char *key, const json_t *json)
{
	if (strcmp(key, "version") == 0)
		read_version(layer, spot, json);
	else if (strcmp(key, "extends") != 0 && !json_is_string(json))
		policy_layer_tell(layer, spot, "expected a string, found %s", json_type_name(json));
}

static bool is_document_key(const struct json_spot *section, const char *key)
{
	for (size_t i = 0; section->above == NULL && policy_document_keys[i].name != NULL; i++)
		if (strcmp(policy_document_keys[i].name, key) == 0)
			return true;
	return false;
}

static const char *nearest_document_key(const char *key)
{
	const char *keys[DOCUMENT_KEYS_MAX + 1] = {};

	for (size_t i = 0; policy_document_keys[i].name != NULL; i++) {
		assert(i < DOCUMENT_KEYS_MAX);
		keys[i] = policy_document_keys[i].name;
	}
	return str_nearest(key, keys);
}

static void tell_unknown(struct policy_layer *layer, const struct json_spot *spot)
{
	cleanup_buf struct buf section = {};
	char buf[64];
	const char *nearest;

	json_spot_name(spot->above, &section);
	nearest = policy_field_nearest(buf_str(&section), spot->key, buf, sizeof buf);
	if (nearest == NULL && section.size == 0)
		nearest = nearest_document_key(spot->key);
	if (nearest != NULL)
		policy_layer_tell(layer, spot, "unknown field; did you mean \"%s\"?", nearest);
	else
		policy_layer_tell(layer, spot, "unknown field");
}

static void read_member(struct policy_layer *layer, const struct json_spot *section, const char *key, json_t *json)
{
	struct json_spot spot = json_spot_member(section, key);
	/* A key with a dot in it is not a short form: there is one way to write a field. */
	bool plain = strchr(key, '.') == NULL;
	cleanup_buf struct buf name = {};
	enum policy_field_id id;

	json_spot_name(&spot, &name);
	id = plain ? policy_field_find(buf_str(&name)) : _FIELD_COUNT;
	if (is_document_key(section, key))
		read_document_key(layer, &spot, key, json);
	else if (id != _FIELD_COUNT)
		read_field(layer, id, &spot, json);
	else if (plain && policy_field_is_section(buf_str(&name)))
		read_section(layer, &spot, json);
	else
		tell_unknown(layer, &spot);
}

static void read_section(struct policy_layer *layer, const struct json_spot *spot, json_t *object)
{
	const char *key;
	json_t *json;

	if (!json_is_object(object)) {
		policy_layer_tell(layer, spot, "expected an object, found %s", json_type_name(object));
		return;
	}
	json_object_foreach(object, key, json) read_member(layer, spot, key, json);
}

void policy_layer_read(struct policy_layer *layer, json_t *root)
{
	read_section(layer, &(struct json_spot){}, root);
}

const char *policy_layer_extends(struct policy_layer *layer, const json_t *root)
{
	const struct json_spot top = {};
	const struct json_spot spot = json_spot_member(&top, "extends");
	const json_t *json = json_object_get(root, "extends");

	if (json == NULL)
		return NULL;
	if (json_is_string(json) && json_string_length(json) > 0)
		return arena_strdup(layer->reading.arena, json_string_value(json));
	policy_layer_tell(layer, &spot, "expected the name of a built-in or a file, found %s",
		json_is_string(json) ? "an empty string" : json_type_name(json));
	return NULL;
}
