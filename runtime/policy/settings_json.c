/*
 * The merged settings as one policy document, which is shown and can be read again, and as the canonical text of it, by
 * whose digest reports name a policy. Every launch keeps that text, so it is written without building the document: a
 * test holds that both are the same.
 */
#include "runtime/policy/settings_json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/policy/value.h"

json_t *policy_settings_parent(json_t *root, const char *name, const char **ret_last)
{
	const char *dot;

	while ((dot = strchr(name, '.')) != NULL && root != NULL) {
		char part[32];
		json_t *below;

		assert((size_t)(dot - name) < sizeof part);
		memcpy(part, name, (size_t)(dot - name));
		part[dot - name] = '\0';
		below = json_object_get(root, part);
		if (below == NULL && json_put(root, part, json_object()) == 0)
			below = json_object_get(root, part);
		root = below;
		name = dot + 1;
	}
	*ret_last = name;
	return root;
}

static json_t *item_to_json(const struct policy_settings *settings, enum policy_field_id id, size_t index)
{
	struct policy_item item = policy_settings_item(settings, id, index);

	return policy_value_to_json(&policy_fields[id], &item);
}

static json_t *list_to_json(const struct policy_settings *settings, enum policy_field_id id)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; i < policy_settings_count(settings, id); i++)
		if (json_array_append_new(list, item_to_json(settings, id, i)) < 0)
			return NULL;
	return json_incref(list);
}

static json_t *variables_to_json(const struct policy_settings *settings, enum policy_field_id id)
{
	cleanup_json json_t *object = json_object();

	for (size_t i = 0; i < policy_settings_count(settings, id); i++) {
		cleanup_json json_t *name = json_text(policy_settings_item(settings, id, i).text);

		if (name == NULL || json_put(object, json_string_value(name), item_to_json(settings, id, i)) < 0)
			return NULL;
	}
	return json_incref(object);
}

static json_t *field_to_json(const struct policy_settings *settings, enum policy_field_id id)
{
	if (policy_fields[id].kind == KIND_VARIABLES)
		return variables_to_json(settings, id);
	if (policy_kind_is_list(policy_fields[id].kind))
		return list_to_json(settings, id);
	return policy_settings_count(settings, id) > 0 ? item_to_json(settings, id, 0) : json_null();
}

json_t *policy_settings_json(const struct policy_settings *settings)
{
	cleanup_json json_t *root = json_object();

	if (json_put(root, "version", json_integer(POLICY_VERSION)) < 0)
		return NULL;
	for (unsigned id = 0; id < _FIELD_COUNT; id++) {
		const char *last;
		json_t *parent = policy_settings_parent(root, policy_fields[id].name, &last);

		if (json_put(parent, last, field_to_json(settings, (enum policy_field_id)id)) < 0)
			return NULL;
	}
	return json_incref(root);
}

/* Takes the reference of json; NULL marks the buffer as failed. */
static void append_canonical(struct buf *buf, json_t *json)
{
	cleanup_json json_t *taken = json;
	cleanup_free char *text = taken != NULL ? json_to_canonical(taken) : NULL;

	if (text == NULL)
		buf->failed = true;
	else
		buf_append_str(buf, text);
}

static void append_paths(struct buf *buf, const struct policy_settings *settings, enum policy_field_id id)
{
	bool any = false;

	buf_append_char(buf, '[');
	for (size_t i = 0; i < policy_settings_count(settings, id); i++) {
		struct policy_item item = policy_settings_item(settings, id, i);

		if (item.origin.secret)
			continue;
		if (any)
			buf_append_char(buf, ',');
		json_append_text(buf, item.text);
		any = true;
	}
	buf_append_char(buf, ']');
}

static int compare_names(const void *a, const void *b)
{
	const enum policy_field_id *left = a;
	const enum policy_field_id *right = b;

	return strcmp(policy_fields[*left].name, policy_fields[*right].name);
}

/* The length of the sections that both names have at their head, with the dots. */
static size_t common_sections(const char *a, const char *b)
{
	size_t common = 0;

	for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
		if (a[i] == '.')
			common = i + 1;
	return common;
}

/* Closes the sections of `before` that `name` is not in, opens those it is in, and writes its key. */
static void append_key(struct buf *buf, const char *before, const char *name)
{
	size_t common = common_sections(before, name);
	const char *rest = name + common;
	const char *dot;

	for (const char *s = before + common; (s = strchr(s, '.')) != NULL; s++)
		buf_append_char(buf, '}');
	if (before[0] != '\0')
		buf_append_char(buf, ',');
	while ((dot = strchr(rest, '.')) != NULL) {
		buf_printf(buf, "\"%.*s\":{", (int)(dot - rest), rest);
		rest = dot + 1;
	}
	buf_printf(buf, "\"%s\":", rest);
}

int policy_settings_canonical(
	const struct policy_settings *settings, struct buf *buf, size_t *ret_secrets_at, struct error *err)
{
	enum policy_field_id ids[_FIELD_COUNT];
	const char *before = "";

	for (unsigned i = 0; i < _FIELD_COUNT; i++)
		ids[i] = (enum policy_field_id)i;
	qsort(ids, _FIELD_COUNT, sizeof *ids, compare_names);
	buf_append_char(buf, '{');
	for (size_t i = 0; i < _FIELD_COUNT; i++) {
		append_key(buf, before, policy_fields[ids[i]].name);
		if (ids[i] == FIELD_DENY)
			*ret_secrets_at = buf->size + strlen("[");
		if (policy_fields[ids[i]].kind == KIND_PATHS)
			append_paths(buf, settings, ids[i]);
		else
			append_canonical(buf, field_to_json(settings, ids[i]));
		before = policy_fields[ids[i]].name;
	}
	append_key(buf, before, "version");
	buf_append_str(buf, "1}");
	return buf_check(buf, err);
}
