/*
 * The first pass over a JSON text, a recursive descent over the whole grammar.
 *
 * jansson builds the values, but it stops at the first mistake, knows no comments and forgets where things stood. This
 * pass goes over the text once before it: it blanks comments and trailing commas, notes the place of each key and
 * value, and refuses duplicate keys and invalid UTF-8. What passes here, jansson takes, except for numbers out of its
 * range.
 *
 * Threat: the text may come from somebody hostile: the depth is bounded before the stack is.
 */
#include "base/json_walk.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/json_places.h"
#include "base/json_scan.h"
#include "base/str.h"

struct json_walk {
	struct json_scan scan;
	struct json_places *places;
};

static bool walk_value(struct json_walk *walk, uint32_t id, unsigned depth);

/* Behind a member or element: true at the next one or at `close`; a trailing comma is blanked. */
static bool walk_comma(struct json_walk *walk, char close)
{
	size_t comma;

	if (!json_scan_space(&walk->scan))
		return false;
	if (json_scan_peek(&walk->scan) == close)
		return true;
	if (json_scan_peek(&walk->scan) != ',')
		return json_scan_expect(&walk->scan, close == '}' ? "',' or '}'" : "',' or ']'");
	comma = walk->scan.at;
	json_scan_step(&walk->scan);
	if (!json_scan_space(&walk->scan))
		return false;
	if (json_scan_peek(&walk->scan) == close)
		walk->scan.text[comma] = ' ';
	return true;
}

static bool walk_member(struct json_walk *walk, uint32_t parent, unsigned depth)
{
	struct json_place place = json_scan_here(&walk->scan);
	uint32_t id;

	if (json_scan_peek(&walk->scan) != '"')
		return json_scan_expect(&walk->scan, "a key in double quotes");
	if (!json_scan_string(&walk->scan, json_places_key(walk->places)))
		return false;
	id = json_places_add(walk->places, parent, place);
	if (!json_scan_space(&walk->scan))
		return false;
	if (json_scan_peek(&walk->scan) != ':')
		return json_scan_expect(&walk->scan, "':'");
	json_scan_step(&walk->scan);
	return json_scan_space(&walk->scan) && walk_value(walk, id, depth);
}

static bool walk_object(struct json_walk *walk, uint32_t id, unsigned depth)
{
	json_scan_step(&walk->scan);
	if (!json_scan_space(&walk->scan))
		return false;
	while (json_scan_peek(&walk->scan) != '}')
		if (!walk_member(walk, id, depth) || !walk_comma(walk, '}'))
			return false;
	json_scan_step(&walk->scan);
	return true;
}

static bool walk_array(struct json_walk *walk, uint32_t id, unsigned depth)
{
	json_scan_step(&walk->scan);
	if (!json_scan_space(&walk->scan))
		return false;
	for (size_t i = 0; json_scan_peek(&walk->scan) != ']'; i++) {
		uint32_t element;

		buf_printf(json_places_key(walk->places), "%zu", i);
		element = json_places_add(walk->places, id, json_scan_here(&walk->scan));
		if (!walk_value(walk, element, depth) || !walk_comma(walk, ']'))
			return false;
	}
	json_scan_step(&walk->scan);
	return true;
}

static bool walk_value(struct json_walk *walk, uint32_t id, unsigned depth)
{
	int c = json_scan_peek(&walk->scan);

	if (c == '"')
		return json_scan_string(&walk->scan, NULL);
	if (c != '{' && c != '[')
		return json_scan_literal(&walk->scan);
	if (depth == JSON_DEPTH_MAX)
		return json_scan_refuse(
			&walk->scan, json_scan_here(&walk->scan), "nested deeper than %d levels", JSON_DEPTH_MAX);
	return c == '{' ? walk_object(walk, id, depth + 1) : walk_array(walk, id, depth + 1);
}

static bool walk_document(struct json_walk *walk)
{
	if (!json_scan_space(&walk->scan))
		return false;
	json_places_set_root(walk->places, json_scan_here(&walk->scan));
	if (!walk_value(walk, JSON_PLACES_ROOT, 0) || !json_scan_space(&walk->scan))
		return false;
	if (json_scan_peek(&walk->scan) != JSON_SCAN_END)
		return json_scan_expect(&walk->scan, "the end of the text");
	return true;
}

/* Refuses at the first byte that is not valid UTF-8, or is NUL. */
static bool check_bytes(struct json_walk *walk)
{
	for (size_t at = 0; at < walk->scan.size;) {
		const char *s = walk->scan.text + at;
		size_t size = str_utf8_char(s, walk->scan.size - at);

		if (*s == '\0')
			return json_scan_refuse(&walk->scan, json_walk_place(walk->scan.text, at), "NUL byte");
		if (size == 0)
			return json_scan_refuse(&walk->scan, json_walk_place(walk->scan.text, at), "invalid UTF-8");
		at += size;
	}
	return true;
}

static void skip_byte_order_mark(struct json_walk *walk)
{
	if (walk->scan.size >= 3 && memcmp(walk->scan.text, "\xef\xbb\xbf", 3) == 0) {
		memset(walk->scan.text, ' ', 3);
		walk->scan.at = 3;
	}
}

struct json_place json_walk_place(const char *text, size_t offset)
{
	struct json_place place = {1, 1};

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n')
			place = (struct json_place){place.line + 1, 1};
		else if (((unsigned char)text[i] & 0xc0) != 0x80)
			place.column++;
	}
	return place;
}

int json_walk(char *text, size_t size, const char *label, struct json_places **ret_places, struct diag *diag)
{
	cleanup_with(json_places_freep) struct json_places *places = json_places_new();
	struct json_walk walk = {
		.scan = {.text = text, .size = size, .line = 1, .column = 1, .label = label, .diag = diag},
		.places = places,
	};
	bool fine;

	if (places == NULL) {
		diag->failed = true;
		return -1;
	}
	if (size > INT_MAX) {
		json_scan_refuse(&walk.scan, json_scan_here(&walk.scan), "larger than 2 GiB");
		return -1;
	}
	if (!check_bytes(&walk))
		return -1;
	skip_byte_order_mark(&walk);
	fine = walk_document(&walk);
	if (json_places_close(places, label, diag) < 0) {
		diag->failed = true;
		return -1;
	}
	if (!fine || walk.scan.flawed)
		return -1;
	*ret_places = steal_ptr(&places);
	return 0;
}
