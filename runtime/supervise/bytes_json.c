/*
 * Output is bytes; JSON strings are Unicode. What is valid UTF-8 (NUL and control characters included, which JSON
 * escapes) goes as it is, everything else as base64, so that no byte is lost and no document is invalid.
 */
#include "runtime/supervise/bytes_json.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const unsigned char *in, size_t n, char *out)
{
	uint32_t bits = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) | (n > 2 ? in[2] : 0u);

	out[0] = alphabet[bits >> 18];
	out[1] = alphabet[bits >> 12 & 63];
	out[2] = n > 1 ? alphabet[bits >> 6 & 63] : '=';
	out[3] = n > 2 ? alphabet[bits & 63] : '=';
}

static json_t *base64(const unsigned char *data, size_t size)
{
	size_t groups = size / 3 + (size % 3 != 0);
	cleanup_free char *text = groups < SIZE_MAX / 8 ? malloc(groups * 4 + 1) : NULL;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < groups; i++) {
		size_t left = size - i * 3;

		encode_group(data + i * 3, left < 3 ? left : 3, text + i * 4);
	}
	return json_stringn_nocheck(text, groups * 4);
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
	return json_put(object, "data", base64((const unsigned char *)bytes, size));
}
