/*
 * UTF-8, read strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.
 *
 * Output of confined programs is kept as head and tail and shown as JSON, and a cut must not split a character. The
 * floor and the ceiling look at the last or first three bytes only: text that is not UTF-8 at all is sent as base64 and
 * is left alone here.
 */
#include "base/str.h"

/* The lead byte decides the length and the range of the second byte; the rest are always 80..BF. */
struct lead {
	unsigned char from, to;
	unsigned char length;
	unsigned char second_from, second_to;
};

static const struct lead leads[] = {
	{0x00, 0x7f, 1, 0, 0},
	{0xc2, 0xdf, 2, 0x80, 0xbf},
	{0xe0, 0xe0, 3, 0xa0, 0xbf},
	{0xe1, 0xec, 3, 0x80, 0xbf},
	{0xed, 0xed, 3, 0x80, 0x9f},
	{0xee, 0xef, 3, 0x80, 0xbf},
	{0xf0, 0xf0, 4, 0x90, 0xbf},
	{0xf1, 0xf3, 4, 0x80, 0xbf},
	{0xf4, 0xf4, 4, 0x80, 0x8f},
};

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

static const struct lead *find_lead(unsigned char c)
{
	size_t i;

	for (i = 0; i < sizeof leads / sizeof *leads; i++) {
		if (c >= leads[i].from && c <= leads[i].to)
			return &leads[i];
	}
	return NULL;
}

/* How many bytes at s belong to one character as far as they go: *ret_whole tells whether it is complete. 0: invalid. */
static size_t char_length(const unsigned char *s, size_t size, bool *ret_whole)
{
	const struct lead *lead = find_lead(s[0]);
	size_t i;

	if (lead == NULL)
		return 0;
	for (i = 1; i < lead->length && i < size; i++) {
		if (!is_continuation(s[i]) || (i == 1 && (s[1] < lead->second_from || s[1] > lead->second_to)))
			return 0;
	}
	*ret_whole = i == lead->length;
	return i;
}

size_t str_utf8_char(const char *data, size_t size)
{
	bool whole = false;
	size_t n = size > 0 ? char_length((const unsigned char *)data, size, &whole) : 0;

	return whole ? n : 0;
}

size_t str_utf8_floor(const char *data, size_t size)
{
	const unsigned char *s = (const unsigned char *)data;
	size_t back;

	for (back = 1; back <= 3 && back <= size; back++) {
		bool whole = true;

		if (is_continuation(s[size - back]))
			continue;
		if (char_length(s + size - back, back, &whole) == back && !whole)
			return size - back;
		return size;
	}
	return size;
}

size_t str_utf8_ceil(const char *data, size_t size)
{
	const unsigned char *s = (const unsigned char *)data;
	size_t skip = 0;

	while (skip < size && skip < 4 && is_continuation(s[skip]))
		skip++;
	return skip < 4 ? skip : 0;
}

bool str_utf8_valid(const void *data, size_t size)
{
	const char *s = data;

	while (size > 0) {
		size_t n = str_utf8_char(s, size);

		if (n == 0)
			return false;
		s += n;
		size -= n;
	}
	return true;
}
