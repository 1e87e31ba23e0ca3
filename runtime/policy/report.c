/*
 * "Where does this come from?" is the question that a merged configuration must be able to answer, so every value and
 * every list entry is shown beside who said it.
 */
#include "runtime/policy/report.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/policy/digest.h"
#include "runtime/policy/settings_json.h"
#include "runtime/policy/value.h"

#define VALUE_WIDTH_MAX 40

/* "/process/env/set/CI", "/filesystem/read/0", "/limits/memory" */
static void append_pointer(struct buf *buf, enum policy_field_id id, const struct policy_item *item, size_t index)
{
	const struct policy_field *field = &policy_fields[id];

	buf_append_char(buf, '/');
	for (const char *s = field->name; *s != '\0'; s++) {
		if (*s == '.')
			buf_append_char(buf, '/');
		else
			buf_append_char(buf, *s);
	}
	if (!policy_kind_is_list(field->kind))
		return;
	if (field->kind != KIND_VARIABLES) {
		buf_printf(buf, "/%zu", index);
		return;
	}
	buf_append_char(buf, '/');
	for (const char *s = item->text; *s != '\0'; s++) {
		if (*s == '~' || *s == '/')
			buf_append_str(buf, *s == '~' ? "~0" : "~1");
		else
			buf_append_char(buf, *s);
	}
}

static int put_origin(json_t *origins, enum policy_field_id id, const struct policy_item *item, size_t index)
{
	cleanup_buf struct buf pointer = {};
	cleanup_buf struct buf text = {};
	cleanup_json json_t *key = NULL;

	append_pointer(&pointer, id, item, index);
	policy_origin_text(&item->origin, &text);
	key = pointer.failed || text.failed ? NULL : json_text(buf_str(&pointer));
	return key != NULL ? json_put(origins, json_string_value(key), json_text(buf_str(&text))) : -1;
}

static json_t *origins_json(const struct policy_settings *settings)
{
	cleanup_json json_t *origins = json_object();

	for (unsigned id = 0; id < _FIELD_COUNT; id++)
		for (size_t i = 0; i < policy_settings_count(settings, (enum policy_field_id)id); i++) {
			struct policy_item item = policy_settings_item(settings, (enum policy_field_id)id, i);

			if (put_origin(origins, (enum policy_field_id)id, &item, i) < 0)
				return NULL;
		}
	return json_incref(origins);
}

static json_t *warnings_json(const struct policy *policy)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; i < policy->n_warnings; i++)
		if (json_array_append_new(list, json_text(policy->warnings[i])) < 0)
			return NULL;
	return json_incref(list);
}

int policy_report_json(
	const struct policy_settings *settings, const struct policy *policy, char **ret_json, struct error *err)
{
	cleanup_json json_t *report = json_object();
	char digest[POLICY_DIGEST_SIZE];
	char *text;

	if (policy_digest(&policy->text, digest, err) < 0)
		return -1;
	if (json_put(report, "schema", json_text("pinfold.policy/1")) < 0 ||
		json_put(report, "name", json_text(policy->name)) < 0 ||
		json_put(report, "digest", json_text(digest)) < 0 ||
		json_put(report, "policy", policy_settings_json(settings)) < 0 ||
		json_put(report, "origins", origins_json(settings)) < 0 ||
		json_put(report, "warnings", warnings_json(policy)) < 0)
		return error_no_memory(err);
	text = json_to_string(report, 1);
	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}

static size_t name_width(void)
{
	size_t width = 0;

	for (size_t id = 0; id < _FIELD_COUNT; id++)
		if (strlen(policy_fields[id].name) > width)
			width = strlen(policy_fields[id].name);
	return width;
}

/* A value as it may be shown on a terminal. */
static void append_value(struct buf *buf, enum policy_field_id id, const struct policy_item *item)
{
	cleanup_buf struct buf value = {};
	char shown[4 * 1024];

	policy_value_to_text(&policy_fields[id], item, &value);
	buf_append_str(buf, str_printable(buf_str(&value), shown, sizeof shown));
	buf->failed |= value.failed;
}

static size_t value_width(const struct policy_settings *settings)
{
	size_t width = 0;

	for (unsigned id = 0; id < _FIELD_COUNT; id++)
		for (size_t i = 0; i < policy_settings_count(settings, (enum policy_field_id)id); i++) {
			struct policy_item item = policy_settings_item(settings, (enum policy_field_id)id, i);
			cleanup_buf struct buf value = {};

			append_value(&value, (enum policy_field_id)id, &item);
			if (value.size > width && value.size <= VALUE_WIDTH_MAX)
				width = value.size;
		}
	return width;
}

struct columns {
	int name, value;
};

static void append_line(
	struct buf *text, const struct columns *columns, enum policy_field_id id, const struct policy_item *item)
{
	cleanup_buf struct buf value = {};
	cleanup_buf struct buf origin = {};

	append_value(&value, id, item);
	policy_origin_text(&item->origin, &origin);
	buf_printf(text, "%-*s  %-*s  %s\n", columns->name, policy_fields[id].name, columns->value, buf_str(&value),
		buf_str(&origin));
	text->failed |= value.failed || origin.failed;
}

int policy_report_text(
	const struct policy_settings *settings, const struct policy *policy, char **ret_text, struct error *err)
{
	const struct columns columns = {(int)name_width(), (int)value_width(settings)};
	cleanup_buf struct buf text = {};
	char digest[POLICY_DIGEST_SIZE];

	if (policy_digest(&policy->text, digest, err) < 0)
		return -1;
	buf_printf(&text, "%-*s  %s\n%-*s  %s\n", columns.name, "policy", policy->name, columns.name, "digest", digest);
	for (unsigned id = 0; id < _FIELD_COUNT; id++)
		for (size_t i = 0; i < policy_settings_count(settings, (enum policy_field_id)id); i++) {
			struct policy_item item = policy_settings_item(settings, (enum policy_field_id)id, i);

			append_line(&text, &columns, (enum policy_field_id)id, &item);
		}
	for (size_t i = 0; i < policy->n_warnings; i++)
		buf_printf(&text, "warning: %s\n", policy->warnings[i]);
	if (buf_check(&text, err) < 0)
		return -1;
	*ret_text = buf_steal(&text);
	return 0;
}
