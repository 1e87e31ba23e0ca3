/*
 * Values from JSON and back. Strings go through the same parsers as flags, so a policy file and a command line cannot
 * understand one text differently. What is written can be read again and gives the same value.
 */
#include <string.h>

#include "base/json.h"
#include "base/json_spot.h"
#include "runtime/policy/value.h"
#include "runtime/policy/value_take.h"
#include "runtime/policy/vocabulary.h"

/* What a mistyped value is told to be. */
static const char *const expectations[_KIND_COUNT] = {
	[KIND_WORD] = "a string",
	[KIND_BOOL] = "true or false",
	[KIND_ROOT] = "a string",
	[KIND_TIME] = "a time such as \"30s\", or a number of seconds",
	[KIND_SIZE] = "a size such as \"512M\", or a number of bytes",
	[KIND_COUNT] = "a whole number",
	[KIND_MILLI] = "a number",
	[KIND_HOSTNAME] = "a string",
	[KIND_PROFILE] = "a string",
	[KIND_ERRNO] = "a string such as \"EPERM\"",
	[KIND_PATHS] = "a string",
	[KIND_PATTERNS] = "a string",
	[KIND_SYSCALLS] = "a string",
	[KIND_REQUIREMENTS] = "a string such as \"limits.memory=cgroup\"",
	[KIND_BINDS] = "an object",
	[KIND_TMPFS] = "an object",
	[KIND_VARIABLES] = "an object",
};

static bool takes_numbers(enum policy_kind kind)
{
	return kind == KIND_TIME || kind == KIND_SIZE || kind == KIND_COUNT || kind == KIND_MILLI;
}

static bool takes_strings(enum policy_kind kind)
{
	return kind != KIND_BOOL && kind != KIND_COUNT;
}

bool policy_value_from_json(struct policy_reading *reading, const struct policy_field *field, const json_t *json,
	struct policy_item *ret_item)
{
	if (json_is_string(json) && takes_strings(field->kind))
		return policy_value_from_text(reading, field, json_string_value(json), ret_item);
	if (json_is_number(json) && takes_numbers(field->kind))
		return policy_value_from_number(reading, field, json, ret_item);
	if (json_is_boolean(json) && field->kind == KIND_BOOL) {
		*ret_item = (struct policy_item){.number = json_is_true(json)};
		return true;
	}
	if (json_is_null(json) && field->nullable) {
		*ret_item = (struct policy_item){.number = LIMIT_NONE};
		return true;
	}
	return policy_reading_refuse(reading, "expected %s%s, found %s", expectations[field->kind],
		field->nullable ? ", or null" : "", json_type_name(json));
}

static json_t *number_to_json(enum policy_kind kind, uint64_t number)
{
	char text[40];

	if (number == LIMIT_NONE)
		return json_null();
	if (kind == KIND_COUNT || (kind == KIND_MILLI && number % 1000 == 0))
		return json_u64(kind == KIND_MILLI ? number / 1000 : number);
	if (kind == KIND_MILLI)
		return json_real((double)number / 1000);
	return json_text(policy_number_text(kind, number, text, sizeof text));
}

static json_t *bind_to_json(const struct policy_item *item)
{
	return json_pack("{s:o, s:o, s:b}", "source", json_text(item->second), "target", json_text(item->text), "write",
		item->flag);
}

static json_t *tmpfs_to_json(const struct policy_item *item)
{
	return json_pack("{s:o, s:o}", "path", json_text(item->text), "size", number_to_json(KIND_SIZE, item->number));
}

static json_t *requirement_to_json(const struct policy_item *item)
{
	if (item->second == NULL)
		return json_text(item->text);
	return json_sprintf("%s=%s", item->text, item->second);
}

json_t *policy_value_to_json(const struct policy_field *field, const struct policy_item *item)
{
	switch (field->kind) {
	case KIND_BOOL: return json_boolean(item->number != 0);
	case KIND_ROOT:
		return json_text(
			item->number == ROOT_DIRECTORY ? item->text : policy_root_name((enum policy_root)item->number));
	case KIND_TIME:
	case KIND_SIZE:
	case KIND_COUNT:
	case KIND_MILLI: return number_to_json(field->kind, item->number);
	case KIND_REQUIREMENTS: return requirement_to_json(item);
	case KIND_BINDS: return bind_to_json(item);
	case KIND_TMPFS: return tmpfs_to_json(item);
	case KIND_VARIABLES: return json_text(item->second);
	case KIND_WORD:
	case KIND_HOSTNAME:
	case KIND_PROFILE:
	case KIND_ERRNO:
	case KIND_PATHS:
	case KIND_PATTERNS:
	case KIND_SYSCALLS:
	case _KIND_COUNT: break;
	}
	return json_text(item->text);
}

void policy_value_to_text(const struct policy_field *field, const struct policy_item *item, struct buf *buf)
{
	char number[40];

	(void)policy_number_text(field->kind, item->number, number, sizeof number);
	switch (field->kind) {
	case KIND_BOOL: buf_append_str(buf, item->number != 0 ? "true" : "false"); return;
	case KIND_ROOT:
		buf_append_str(buf,
			item->number == ROOT_DIRECTORY ? item->text : policy_root_name((enum policy_root)item->number));
		return;
	case KIND_TIME:
	case KIND_SIZE:
	case KIND_COUNT:
	case KIND_MILLI: buf_append_str(buf, number); return;
	case KIND_REQUIREMENTS:
		buf_printf(buf, "%s%s%s", item->text, item->second != NULL ? "=" : "",
			item->second != NULL ? item->second : "");
		return;
	case KIND_BINDS:
		buf_printf(buf, "%s -> %s (%s)", item->second, item->text, item->flag ? "writable" : "read-only");
		return;
	case KIND_TMPFS:
		buf_append_str(buf, item->text);
		if (item->number != LIMIT_NONE)
			buf_printf(buf, " (%s)", number);
		return;
	case KIND_VARIABLES: buf_printf(buf, "%s=%s", item->text, item->second); return;
	case KIND_WORD:
	case KIND_HOSTNAME:
	case KIND_PROFILE:
	case KIND_ERRNO:
	case KIND_PATHS:
	case KIND_PATTERNS:
	case KIND_SYSCALLS:
	case _KIND_COUNT: break;
	}
	buf_append_str(buf, item->text);
}
