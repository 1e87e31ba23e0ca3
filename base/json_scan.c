/*
 * The scanner below json_walk: one character, one comment, one string, one number at a time.
 *
 * It blanks what plain JSON lacks (each byte stays at its offset) and refuses what two readers could understand
 * differently: NUL in a string, half a surrogate pair, a bare control character.
 *
 * Threat: the text may come from somebody hostile. Nothing is read behind `size`, and every byte is looked at a
 * constant number of times.
 */
#include "base/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct json_place json_scan_here(const struct json_scan *scan)
{
	return (struct json_place){scan->line, scan->column};
}

bool json_scan_refuse(struct json_scan *scan, struct json_place place, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	diag_error(scan->diag, "%s:%u:%u: %s", scan->label, place.line, place.column, text);
	return false;
}

int json_scan_peek(const struct json_scan *scan)
{
	return scan->at < scan->size ? (unsigned char)scan->text[scan->at] : JSON_SCAN_END;
}

static int peek_next(const struct json_scan *scan)
{
	return scan->at + 1 < scan->size ? (unsigned char)scan->text[scan->at + 1] : JSON_SCAN_END;
}

bool json_scan_expect(struct json_scan *scan, const char *expected)
{
	int c = json_scan_peek(scan);

	if (c == JSON_SCAN_END)
		return json_scan_refuse(scan, json_scan_here(scan), "expected %s, found the end of the text", expected);
	if (c < 0x20 || c >= 0x7f)
		return json_scan_refuse(
			scan, json_scan_here(scan), "expected %s, found byte 0x%02x", expected, (unsigned)c);
	return json_scan_refuse(scan, json_scan_here(scan), "expected %s, found '%c'", expected, c);
}

void json_scan_step(struct json_scan *scan)
{
	int c = json_scan_peek(scan);

	scan->at++;
	if (c == '\n') {
		scan->line++;
		scan->column = 1;
	} else if ((c & 0xc0) != 0x80) {
		scan->column++;
	}
}

static void blank(struct json_scan *scan)
{
	size_t at = scan->at;
	char c = scan->text[at];

	json_scan_step(scan);
	if (c != '\n')
		scan->text[at] = ' ';
}

static void skip_line_comment(struct json_scan *scan)
{
	while (json_scan_peek(scan) != JSON_SCAN_END && json_scan_peek(scan) != '\n')
		blank(scan);
}

static bool skip_block_comment(struct json_scan *scan)
{
	struct json_place start = json_scan_here(scan);

	blank(scan);
	blank(scan);
	while (json_scan_peek(scan) != '*' || peek_next(scan) != '/') {
		if (json_scan_peek(scan) == JSON_SCAN_END)
			return json_scan_refuse(scan, start, "the comment that begins here has no end");
		blank(scan);
	}
	blank(scan);
	blank(scan);
	return true;
}

bool json_scan_space(struct json_scan *scan)
{
	for (;;) {
		int c = json_scan_peek(scan);

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			json_scan_step(scan);
		} else if (c == '/' && peek_next(scan) == '/') {
			skip_line_comment(scan);
		} else if (c == '/' && peek_next(scan) == '*') {
			if (!skip_block_comment(scan))
				return false;
		} else {
			return true;
		}
	}
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits behind "\u"; -1 where they are not. */
static long read_hex4(struct json_scan *scan)
{
	long value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(json_scan_peek(scan));

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
		json_scan_step(scan);
	}
	return value;
}

static void put_utf8(struct buf *buf, unsigned long c)
{
	if (c < 0x80) {
		buf_append_char(buf, (char)c);
	} else if (c < 0x800) {
		buf_append_char(buf, (char)(0xc0 | c >> 6));
		buf_append_char(buf, (char)(0x80 | (c & 0x3f)));
	} else {
		if (c < 0x10000) {
			buf_append_char(buf, (char)(0xe0 | c >> 12));
		} else {
			buf_append_char(buf, (char)(0xf0 | c >> 18));
			buf_append_char(buf, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		buf_append_char(buf, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_append_char(buf, (char)(0x80 | (c & 0x3f)));
	}
}

/* The second half of a surrogate pair; -1 where there is none. */
static long read_low_surrogate(struct json_scan *scan)
{
	long low;

	if (json_scan_peek(scan) != '\\' || peek_next(scan) != 'u')
		return -1;
	json_scan_step(scan);
	json_scan_step(scan);
	low = read_hex4(scan);
	return low >= 0xdc00 && low <= 0xdfff ? low : -1;
}

static bool take_unicode_escape(struct json_scan *scan, struct json_place start)
{
	long c;

	json_scan_step(scan);
	c = read_hex4(scan);
	if (c < 0)
		return json_scan_refuse(scan, start, "\\u needs four hexadecimal digits");
	if (c >= 0xd800 && c <= 0xdfff) {
		long low = c < 0xdc00 ? read_low_surrogate(scan) : -1;

		if (low < 0)
			return json_scan_refuse(scan, start, "half of a surrogate pair is not a character");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (c == 0) {
		json_scan_refuse(scan, start, "\\u0000 is not allowed in a string");
		scan->flawed = true;
	}
	if (scan->key != NULL)
		put_utf8(scan->key, (unsigned long)c);
	return true;
}

static bool take_escape(struct json_scan *scan)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	struct json_place start = json_scan_here(scan);
	const char *found;
	int c;

	json_scan_step(scan);
	c = json_scan_peek(scan);
	if (c == 'u')
		return take_unicode_escape(scan, start);
	found = c > 0 ? strchr(letters, c) : NULL;
	if (found == NULL)
		return json_scan_refuse(scan, start, "unknown escape; a backslash itself is written \\\\");
	if (scan->key != NULL)
		buf_append_char(scan->key, meanings[found - letters]);
	json_scan_step(scan);
	return true;
}

/* At the opening quote; `key` receives the decoded bytes where it is not NULL. */
bool json_scan_string(struct json_scan *scan, struct buf *key)
{
	struct json_place start = json_scan_here(scan);

	scan->key = key;
	json_scan_step(scan);
	for (int c = json_scan_peek(scan); c != '"'; c = json_scan_peek(scan)) {
		if (c == JSON_SCAN_END || c == '\n')
			return json_scan_refuse(scan, start, "the string that begins here has no end");
		if (c < 0x20)
			return json_scan_refuse(scan, json_scan_here(scan),
				"control character in a string; write it as \\u%04x", (unsigned)c);
		if (c == '\\') {
			if (!take_escape(scan))
				return false;
			continue;
		}
		if (key != NULL)
			buf_append_char(key, (char)c);
		json_scan_step(scan);
	}
	json_scan_step(scan);
	return true;
}

static size_t count_digits(const char *s, size_t size)
{
	size_t n = 0;

	while (n < size && s[n] >= '0' && s[n] <= '9')
		n++;
	return n;
}

static bool is_number(const char *s, size_t size)
{
	size_t at = size > 0 && s[0] == '-' ? 1 : 0;
	size_t n = count_digits(s + at, size - at);

	if (n == 0 || (n > 1 && s[at] == '0'))
		return false;
	at += n;
	if (at < size && s[at] == '.') {
		n = count_digits(s + at + 1, size - at - 1);
		if (n == 0)
			return false;
		at += n + 1;
	}
	if (at < size && (s[at] == 'e' || s[at] == 'E')) {
		at++;
		if (at < size && (s[at] == '+' || s[at] == '-'))
			at++;
		n = count_digits(s + at, size - at);
		if (n == 0)
			return false;
		at += n;
	}
	return at == size;
}

static bool is_literal(const char *s, size_t size)
{
	static const char *const literals[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof literals / sizeof *literals; i++)
		if (strlen(literals[i]) == size && memcmp(literals[i], s, size) == 0)
			return true;
	return is_number(s, size);
}

static bool is_word_byte(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
		c == '+' || c == '-';
}

bool json_scan_literal(struct json_scan *scan)
{
	struct json_place start = json_scan_here(scan);
	size_t from = scan->at;
	size_t size;

	while (is_word_byte(json_scan_peek(scan)))
		json_scan_step(scan);
	size = scan->at - from;
	if (size == 0)
		return json_scan_expect(scan, "a value");
	if (is_literal(scan->text + from, size))
		return true;
	return json_scan_refuse(scan, start, "\"%.*s\" is not a value; texts stand in double quotes",
		size < 40 ? (int)size : 40, scan->text + from);
}
