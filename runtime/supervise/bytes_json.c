/*
 * Output is bytes; JSON strings are Unicode. What is valid UTF-8 (NUL and control characters included, which JSON
 * escapes) goes as it is, everything else as base64, so that no byte is lost and no document is invalid.
 */
#include "runtime/supervise/bytes_json.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/str.h"

static json_t *base64(const char *data, size_t size)
{
	size_t text_size = 0;
	cleanup_free char *text = base64_encode(data, size, &text_size);

	return text != NULL ? json_stringn_nocheck(text, text_size) : NULL;
}

int bytes_json_put(json_t *object, const void *data, size_t size)
{
	const char *bytes = data;

	if (data == NULL) {
		bytes = "";
		size = 0;
	}
	if (str_utf8_valid(bytes, size)) {
		if (json_put(object, "encoding", json_string("utf-8")) < 0)
			return -1;
		return json_put(object, "data", json_stringn_nocheck(bytes, size));
	}
	if (json_put(object, "encoding", json_string("base64")) < 0)
		return -1;
	return json_put(object, "data", base64(bytes, size));
}
