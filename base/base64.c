/*
 * Bytes as text. What is decoded came from somebody else: there is one text for each sequence of bytes, and every other
 * one is refused, so that two readers of one document cannot see two contents.
 */
#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const unsigned char *in, size_t n, char *out)
{
	uint32_t bits = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) | (n > 2 ? in[2] : 0u);

	out[0] = alphabet[bits >> 18];
	out[1] = alphabet[bits >> 12 & 63];
	out[2] = n > 1 ? alphabet[bits >> 6 & 63] : '=';
	out[3] = n > 2 ? alphabet[bits & 63] : '=';
}

char *base64_encode(const void *data, size_t size, size_t *ret_size)
{
	size_t groups = size / 3 + (size % 3 != 0);
	char *text = groups < SIZE_MAX / 8 ? malloc(groups * 4 + 1) : NULL;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < groups; i++) {
		size_t left = size - i * 3;

		encode_group((const unsigned char *)data + i * 3, left < 3 ? left : 3, text + i * 4);
	}
	text[groups * 4] = '\0';
	*ret_size = groups * 4;
	return text;
}

/* -1 for what is no digit. */
static int digit(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

/* n: how many of the four are digits; two give one byte, three two, four three. */
static bool decode_group(const char *in, size_t n, unsigned char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < n; i++) {
		int value = digit(in[i]);

		if (value < 0)
			return false;
		bits |= (uint32_t)value << (18 - 6 * i);
	}
	for (size_t i = 0; i + 1 < n; i++)
		out[i] = (unsigned char)(bits >> (16 - 8 * i));
	/* What is left behind the last byte must be nothing. */
	return (bits & (0xffffffu >> (8 * (n - 1)))) == 0;
}

bool base64_decode(const char *text, size_t size, void *ret_data, size_t *ret_size)
{
	unsigned char *out = ret_data;
	size_t padding = 0;

	if (size % 4 != 0)
		return false;
	while (padding < 2 && padding < size && text[size - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < size; i += 4)
		if (!decode_group(text + i, i + 4 == size ? 4 - padding : 4, out + i / 4 * 3))
			return false;
	*ret_size = size / 4 * 3 - padding;
	return true;
}
