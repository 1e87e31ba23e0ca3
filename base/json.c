/*
 * JSON over jansson: json_walk goes first (comments, places, duplicates), jansson builds the values from what it left,
 * and a few helpers build and print documents so that bytes which are no text can never make an invalid one.
 *
 * Everything printed goes through a buf, not through jansson's own allocation, which a program may have replaced.
 */
#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_walk.h"
#include "base/str.h"

/* More digits than this only show how binary fractions miss decimal ones. */
#define REAL_DIGITS 15

/* jansson stops behind the number it refuses; the place told is that of its first character. */
static void tell_number(const char *text, int position, const char *label, struct diag *diag)
{
	size_t at = position > 0 ? (size_t)position : 0;
	struct json_place place;

	while (at > 0 && strchr("+-.0123456789eE", text[at - 1]) != NULL)
		at--;
	place = json_walk_place(text, at);
	diag_error(diag, "%s:%u:%u: number out of range", label, place.line, place.column);
}

static void tell_jansson(const char *text, const json_error_t *error, const char *label, struct diag *diag)
{
	struct json_place place;

	if (json_error_code(error) == json_error_out_of_memory) {
		diag->failed = true;
	} else if (json_error_code(error) == json_error_numeric_overflow) {
		tell_number(text, error->position, label, diag);
	} else {
		place = json_walk_place(text, error->position > 0 ? (size_t)error->position : 0);
		diag_error(diag, "%s:%u:%u: %s", label, place.line, place.column, error->text);
	}
}

int json_parse_places_duplicates(const char *text, size_t size, const char *label, json_t **ret_json,
	struct json_places **ret_places, struct diag *diag)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_buf struct buf plain = {};
	json_error_t error;
	json_t *json;

	buf_append(&plain, text, size);
	if (plain.failed) {
		diag->failed = true;
		return -1;
	}
	if (json_walk(size > 0 ? plain.data : (char[1]){""}, size, label, &places, diag) < 0)
		return -1;
	json = json_loadb(buf_str(&plain), size, JSON_DECODE_ANY, &error);
	if (json == NULL) {
		tell_jansson(buf_str(&plain), &error, label, diag);
		return -1;
	}
	*ret_json = json;
	*ret_places = steal_ptr(&places);
	return 0;
}

int json_parse_places(const char *text, size_t size, const char *label, json_t **ret_json,
	struct json_places **ret_places, struct diag *diag)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_json json_t *json = NULL;
	size_t n_errors = diag->n_errors;

	if (json_parse_places_duplicates(text, size, label, &json, &places, diag) < 0 || diag->failed ||
		diag->n_errors > n_errors)
		return -1;
	*ret_json = steal_ptr(&json);
	*ret_places = steal_ptr(&places);
	return 0;
}

int json_parse_own(const char *text, size_t size, const char *label, json_t **ret_json, struct diag *diag)
{
	json_error_t error;
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

	if (json == NULL) {
		tell_jansson(text, &error, label, diag);
		return -1;
	}
	*ret_json = json;
	return 0;
}

int json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

json_t *json_text(const char *s)
{
	cleanup_buf struct buf clean = {};
	size_t left;

	if (s == NULL)
		return json_null();
	left = strlen(s);
	while (left > 0) {
		size_t size = str_utf8_char(s, left);

		if (size == 0)
			buf_append_str(&clean, "\xef\xbf\xbd");
		else
			buf_append(&clean, s, size);
		s += size == 0 ? 1 : size;
		left -= size == 0 ? 1 : size;
	}
	return clean.failed ? NULL : json_stringn(buf_str(&clean), clean.size);
}

json_t *json_u64(unsigned long long value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static int append_chunk(const char *data, size_t size, void *userdata)
{
	struct buf *buf = userdata;

	buf_append(buf, data, size);
	return buf->failed ? -1 : 0;
}

static char *dump(const json_t *json, size_t flags, const char *end)
{
	cleanup_buf struct buf text = {};

	if (json_dump_callback(json, append_chunk, &text, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(REAL_DIGITS)) < 0)
		return NULL;
	buf_append_str(&text, end);
	return buf_steal(&text);
}

char *json_to_string(const json_t *json, int pretty)
{
	return pretty ? dump(json, JSON_INDENT(2), "\n") : dump(json, JSON_COMPACT, "");
}

char *json_to_canonical(const json_t *json)
{
	return dump(json, JSON_COMPACT | JSON_SORT_KEYS, "");
}

/* A string that JSON leaves as it is. */
static bool is_plain(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f || *s == '"' || *s == '\\')
			return false;
	return true;
}

void json_append_text(struct buf *buf, const char *s)
{
	cleanup_json json_t *json = NULL;
	cleanup_free char *text = NULL;

	if (is_plain(s)) {
		buf_append_char(buf, '"');
		buf_append_str(buf, s);
		buf_append_char(buf, '"');
		return;
	}
	json = json_text(s);
	text = json != NULL ? dump(json, JSON_COMPACT | JSON_ENCODE_ANY, "") : NULL;
	if (text == NULL)
		buf->failed = true;
	else
		buf_append_str(buf, text);
}
