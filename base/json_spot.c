/*
 * Names of places in a document: for people with dots, and as JSON pointers for the map of places.
 */
#include "base/json_spot.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void json_spot_name(const struct json_spot *spot, struct buf *buf)
{
	char shown[80];

	if (spot->above == NULL)
		return;
	json_spot_name(spot->above, buf);
	if (spot->key == NULL) {
		buf_printf(buf, "[%zu]", spot->index);
		return;
	}
	if (buf->size > 0)
		buf_append_char(buf, '.');
	buf_append_str(buf, str_printable(spot->key, shown, sizeof shown));
}

/* A key as a pointer component: '~' and '/' escaped. */
static void append_escaped(struct buf *buf, const char *key)
{
	for (; *key != '\0'; key++) {
		if (*key == '~')
			buf_append_str(buf, "~0");
		else if (*key == '/')
			buf_append_str(buf, "~1");
		else
			buf_append_char(buf, *key);
	}
}

void json_spot_pointer(const struct json_spot *spot, struct buf *buf)
{
	if (spot->above == NULL)
		return;
	json_spot_pointer(spot->above, buf);
	if (spot->key == NULL) {
		buf_printf(buf, "/%zu", spot->index);
		return;
	}
	buf_append_char(buf, '/');
	append_escaped(buf, spot->key);
}

const char *json_type_name(const json_t *json)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number",
		[JSON_REAL] = "a number",
		[JSON_TRUE] = "true",
		[JSON_FALSE] = "false",
		[JSON_NULL] = "null",
	};

	return names[json_typeof(json)];
}

struct json_place json_spot_place(const struct json_text_source *source, const struct json_spot *spot)
{
	cleanup_buf struct buf pointer = {};

	json_spot_pointer(spot, &pointer);
	if (pointer.failed)
		source->diag->failed = true;
	return json_places_find(source->places, buf_str(&pointer));
}

void json_spot_tellv(const struct json_text_source *source, const struct json_spot *spot, const char *fmt, va_list args)
{
	struct json_place place = json_spot_place(source, spot);
	cleanup_buf struct buf name = {};
	char text[512];

	(void)vsnprintf(text, sizeof text, fmt, args);
	json_spot_name(spot, &name);
	diag_error(source->diag, "%s:%u:%u: %s%s%s", source->label, place.line, place.column, buf_str(&name),
		name.size > 0 ? ": " : "", text);
}

void json_spot_tell(const struct json_text_source *source, const struct json_spot *spot, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	json_spot_tellv(source, spot, fmt, args);
	va_end(args);
}
