/* Where in a document a walk of it stands, and telling what is wrong there. */
#ifndef BASE_JSON_SPOT_H
#define BASE_JSON_SPOT_H

#include <stdarg.h>

#include "base/json.h"

/* A member or an element of what lies above; on the stack of the walk, and made into text only when something is to be
 * said about it. */
struct json_spot {
	const struct json_spot *above; /* NULL: the top */
	const char *key;               /* NULL: an element */
	size_t index;
};

static inline struct json_spot json_spot_member(const struct json_spot *above, const char *key)
{
	return (struct json_spot){.above = above, .key = key};
}
static inline struct json_spot json_spot_element(const struct json_spot *above, size_t index)
{
	return (struct json_spot){.above = above, .index = index};
}
/* "limits.memory", "filesystem.read[0]": as people write it; "" for the top. */
void json_spot_name(const struct json_spot *spot, struct buf *buf);
/* "/limits/memory", "/filesystem/read/0": as JSON pointer. */
void json_spot_pointer(const struct json_spot *spot, struct buf *buf);

/* The text that is walked, and where its mistakes go. */
struct json_text_source {
	const char *label;
	const struct json_places *places;
	struct diag *diag;
};
struct json_place json_spot_place(const struct json_text_source *source, const struct json_spot *spot);
/* "LABEL:LINE:COL: NAME: TEXT" as an error in the diag. */
void json_spot_tell(const struct json_text_source *source, const struct json_spot *spot, const char *fmt, ...)
	printf_like(3, 4);
void json_spot_tellv(const struct json_text_source *source, const struct json_spot *spot, const char *fmt, va_list args)
	printf_like(3, 0);

/* "a list"; for messages. */
const char *json_type_name(const json_t *json);

#endif
