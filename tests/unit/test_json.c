/* JSON with comments: what is taken, what is refused and where, and that places survive comments and wide characters. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "tests/unit/harness.h"

TestSuite(json, .fini = harness_leak_check);

#define TEXT(s) (s), sizeof(s) - 1

struct bad {
	const char *text;
	size_t size;
	const char *message;
};

static const struct bad bad_texts[] = {
	{TEXT(""), "t:1:1: expected a value, found the end of the text"},
	{TEXT("  // only a comment"), "t:1:20: expected a value, found the end of the text"},
	{TEXT("{"), "t:1:2: expected a key in double quotes, found the end of the text"},
	{TEXT("{\"a\""), "t:1:5: expected ':', found the end of the text"},
	{TEXT("{\"a\" 1}"), "t:1:6: expected ':', found '1'"},
	{TEXT("{\"a\": }"), "t:1:7: expected a value, found '}'"},
	{TEXT("{\"a\": 1 \"b\": 2}"), "t:1:9: expected ',' or '}', found '\"'"},
	{TEXT("{,}"), "t:1:2: expected a key in double quotes, found ','"},
	{TEXT("{'a': 1}"), "t:1:2: expected a key in double quotes, found '''"},
	{TEXT("[,]"), "t:1:2: expected a value, found ','"},
	{TEXT("[1,,2]"), "t:1:4: expected a value, found ','"},
	{TEXT("[1 2]"), "t:1:4: expected ',' or ']', found '2'"},
	{TEXT("[1}"), "t:1:3: expected ',' or ']', found '}'"},
	{TEXT("{} {}"), "t:1:4: expected the end of the text, found '{'"},
	{TEXT("{}\n\nx"), "t:3:1: expected the end of the text, found 'x'"},
	{TEXT("[\"a\n\"]"), "t:1:2: the string that begins here has no end"},
	{TEXT("[\"a"), "t:1:2: the string that begins here has no end"},
	{TEXT("[\"a\tb\"]"), "t:1:4: control character in a string; write it as \\u0009"},
	{TEXT("[\"\\x\"]"), "t:1:3: unknown escape; a backslash itself is written \\\\"},
	{TEXT("[\"\\u12g4\"]"), "t:1:3: \\u needs four hexadecimal digits"},
	{TEXT("[\"\\ud800\"]"), "t:1:3: half of a surrogate pair is not a character"},
	{TEXT("[\"\\ud800\\u0041\"]"), "t:1:3: half of a surrogate pair is not a character"},
	{TEXT("[\"\\udc00\\ud800\"]"), "t:1:3: half of a surrogate pair is not a character"},
	{TEXT("[\"a\\u0000b\"]"), "t:1:4: \\u0000 is not allowed in a string"},
	{TEXT("[\"a\0b\"]"), "t:1:4: NUL byte"},
	{TEXT("{}\0"), "t:1:3: NUL byte"},
	{TEXT("[\"\xff\"]"), "t:1:3: invalid UTF-8"},
	{TEXT("// \xc0\x80\n{}"), "t:1:4: invalid UTF-8"},
	{TEXT("[\"\xe2\x82"), "t:1:3: invalid UTF-8"},
	{TEXT("{}\n/* no end"), "t:2:1: the comment that begins here has no end"},
	{TEXT("/*/"), "t:1:1: the comment that begins here has no end"},
	{TEXT("/ {}"), "t:1:1: expected a value, found '/'"},
	{TEXT("[tru]"), "t:1:2: \"tru\" is not a value; texts stand in double quotes"},
	{TEXT("[True]"), "t:1:2: \"True\" is not a value; texts stand in double quotes"},
	{TEXT("[01]"), "t:1:2: \"01\" is not a value; texts stand in double quotes"},
	{TEXT("[1.]"), "t:1:2: \"1.\" is not a value; texts stand in double quotes"},
	{TEXT("[.5]"), "t:1:2: \".5\" is not a value; texts stand in double quotes"},
	{TEXT("[+1]"), "t:1:2: \"+1\" is not a value; texts stand in double quotes"},
	{TEXT("[-]"), "t:1:2: \"-\" is not a value; texts stand in double quotes"},
	{TEXT("[1e]"), "t:1:2: \"1e\" is not a value; texts stand in double quotes"},
	{TEXT("[NaN]"), "t:1:2: \"NaN\" is not a value; texts stand in double quotes"},
	{TEXT("[\n  9223372036854775808]"), "t:2:3: number out of range"},
	{TEXT("[0, 1e400]"), "t:1:5: number out of range"},
	{TEXT("{\"a\": 1,\n \"a\": 2}"), "t:2:2: duplicate key \"a\", first on line 1"},
	{TEXT("{\"a\": 1,\n \"\\u0061\": 2}"), "t:2:2: duplicate key \"a\", first on line 1"},
};

static json_t *parse(const char *text, size_t size, struct json_places **ret_places, struct diag *diag)
{
	json_t *json = NULL;

	return json_parse_places(text, size, "t", &json, ret_places, diag) == 0 ? json : NULL;
}

Test(json, refuses_with_place)
{
	for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
		cleanup_with(json_places_freep) struct json_places *places = NULL;
		cleanup_diag struct diag diag = {};

		cr_expect_null(parse(bad_texts[i].text, bad_texts[i].size, &places, &diag), "%s", bad_texts[i].message);
		cr_expect_eq(diag.n, 1, "%s: %zu messages", bad_texts[i].message, diag.n);
		if (diag.n > 0)
			cr_expect_str_eq(diag.entries[0].text, bad_texts[i].message);
	}
}

/* Each text, and what it means in plain JSON. */
static const char *const good_texts[][2] = {
	{"{}", "{}"},
	{" \t\r\n[] // end", "[]"},
	{"\"x\"", "\"x\""},
	{"null", "null"},
	{"-0.5e-1", "-0.05"},
	{"[1, 2,]", "[1,2]"},
	{"{\"a\": [1,], /* c */ \"b\": {\"c\": true,},}", "{\"a\":[1],\"b\":{\"c\":true}}"},
	{"[1 /* , */ , // ,\n 2 , // last\n ]", "[1,2]"},
	{"[\"// no comment\", \"/* nor this */\", \",]\"]", "[\"// no comment\",\"/* nor this */\",\",]\"]"},
	{"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"]",
		"[\"\\\"\\\\/\\b\\f\\n\\r\\t\xc3\xa9\xf0\x9f\x98\x80\"]"},
	{"\xef\xbb\xbf{\"a\": 1}", "{\"a\":1}"},
	{"/**/[/***/9223372036854775807/* x **/]", "[9223372036854775807]"},
};

Test(json, takes)
{
	for (size_t i = 0; i < sizeof good_texts / sizeof *good_texts; i++) {
		cleanup_with(json_places_freep) struct json_places *places = NULL;
		cleanup_diag struct diag diag = {};
		cleanup_json json_t *json = parse(good_texts[i][0], strlen(good_texts[i][0]), &places, &diag);
		cleanup_free char *plain = json != NULL ? json_to_string(json, 0) : NULL;

		cr_expect_eq(diag.n, 0, "%s: %s", good_texts[i][0], diag.n > 0 ? diag.entries[0].text : "");
		cr_assert_not_null(plain, "%s", good_texts[i][0]);
		cr_expect_str_eq(plain, good_texts[i][1]);
	}
}

static void expect_place(const struct json_places *places, const char *pointer, unsigned line, unsigned column)
{
	struct json_place place = json_places_find(places, pointer);

	cr_expect_eq(place.line, line, "%s: line %u", pointer, place.line);
	cr_expect_eq(place.column, column, "%s: column %u", pointer, place.column);
}

Test(json, places_survive_comments_and_wide_characters)
{
	static const char text[] = "// \xc3\xa9\xc3\xa9\n"
				   "{ /* \xf0\x9f\x98\x80\n"
				   " */ \"a\": 1, /* \xe2\x82\xac */ \"b\": [10,\n"
				   "    \"\xc3\xa9\xc3\xa9\", {\"c/d\": {\"~\": null}}],\n"
				   "  \"\\u0065\": {\"\": 5}}\n";
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_diag struct diag diag = {};
	cleanup_json json_t *json = parse(TEXT(text), &places, &diag);

	cr_assert_not_null(json);
	expect_place(places, "", 2, 1);
	expect_place(places, "/a", 3, 5);
	expect_place(places, "/b", 3, 21);
	expect_place(places, "/b/0", 3, 27);
	expect_place(places, "/b/1", 4, 5);
	expect_place(places, "/b/2", 4, 11);
	expect_place(places, "/b/2/c~1d", 4, 12);
	expect_place(places, "/b/2/c~1d/~0", 4, 20);
	expect_place(places, "/e", 5, 3);
	expect_place(places, "/e/", 5, 14);
	expect_place(places, "/b/3", 0, 0);
	expect_place(places, "/x", 0, 0);
	expect_place(places, "/a/0", 0, 0);
}

Test(json, duplicates_are_all_told_in_order)
{
	static const char text[] = "{\"z\": 1, \"z\": 2,\n\"o\": {\"k\": 1, \"k\": 2, \"k\": 3},\n\"z\": 4}";
	static const char *const messages[] = {
		"t:1:10: duplicate key \"z\", first on line 1",
		"t:2:15: duplicate key \"k\", first on line 2",
		"t:2:23: duplicate key \"k\", first on line 2",
		"t:3:1: duplicate key \"z\", first on line 1",
	};
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_diag struct diag diag = {};
	cleanup_json json_t *json = NULL;

	cr_assert_eq(json_parse_places_duplicates(TEXT(text), "t", &json, &places, &diag), 0);
	cr_assert_eq(diag.n_errors, 4);
	for (size_t i = 0; i < 4; i++)
		cr_expect_str_eq(diag.entries[i].text, messages[i]);
	cr_expect_eq(json_integer_value(json_object_get(json, "z")), 4);
	expect_place(places, "/z", 3, 1);
	expect_place(places, "/o/k", 2, 23);
}

Test(json, duplicates_are_refused_where_not_asked_for)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_diag struct diag diag = {};

	cr_assert_null(parse(TEXT("{\"a\": 1, \"a\": 1}"), &places, &diag));
	cr_assert_null(places);
}

static void nest(struct buf *buf, unsigned depth, const char *open, const char *close)
{
	for (unsigned i = 0; i < depth; i++)
		buf_append_str(buf, open);
	buf_append_str(buf, "0");
	for (unsigned i = 0; i < depth; i++)
		buf_append_str(buf, close);
}

Test(json, depth_is_bounded)
{
	static const struct {
		unsigned depth;
		bool fine;
	} rows[] = {{64, true}, {65, false}, {200000, false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cleanup_with(json_places_freep) struct json_places *places = NULL;
		cleanup_diag struct diag diag = {};
		cleanup_buf struct buf lists = {};
		cleanup_json json_t *json = NULL;

		nest(&lists, rows[i].depth, "[", "]");
		json = parse(buf_str(&lists), lists.size, &places, &diag);
		cr_expect_eq(json != NULL, rows[i].fine, "depth %u", rows[i].depth);
		if (!rows[i].fine)
			cr_expect_str_eq(diag.entries[0].text, "t:1:65: nested deeper than 64 levels");
	}
}

/* What would take hours or gigabytes if whole pointers were kept or elements searched one by one. */
Test(json, long_keys_above_many_elements, .timeout = 30)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_diag struct diag diag = {};
	cleanup_buf struct buf text = {};
	cleanup_json json_t *json = NULL;

	buf_append_str(&text, "{\"");
	for (int i = 0; i < 400000; i++)
		buf_append_char(&text, 'k');
	buf_append_str(&text, "\": [0");
	for (int i = 0; i < 300000; i++)
		buf_append_str(&text, ",0");
	buf_append_str(&text, "], \"last\": 1}");
	json = parse(buf_str(&text), text.size, &places, &diag);
	cr_assert_not_null(json);
	expect_place(places, "/last", 1, 2 + 400000 + 5 + 600000 + 3 + 1);
}

Test(json, text_of_bytes_is_always_utf8)
{
	static const char *const rows[][2] = {
		{"plain", "\"plain\""},
		{"a\xff"
		 "b",
			"\"a\xef\xbf\xbd"
			"b\""},
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc3\xa9\n", "\"\xc3\xa9\\n\""},
		{"", "\"\""},
		{NULL, "null"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cleanup_json json_t *json = json_text(rows[i][0]);
		cleanup_free char *text = json_to_string(json, 0);

		cr_assert_not_null(text);
		cr_expect_str_eq(text, rows[i][1]);
	}
}

Test(json, building)
{
	cleanup_json json_t *object = json_object();
	cleanup_free char *pretty = NULL;
	cleanup_free char *compact = NULL;
	cleanup_free char *canonical = NULL;

	cr_assert_eq(json_put(object, "b", json_u64(UINT64_MAX)), 0);
	cr_assert_eq(json_put(object, "a", json_real(0.1)), 0);
	cr_assert_eq(json_put(object, "c", NULL), -1);
	pretty = json_to_string(object, 1);
	compact = json_to_string(object, 0);
	canonical = json_to_canonical(object);
	cr_expect_str_eq(pretty, "{\n  \"b\": 9223372036854775807,\n  \"a\": 0.1\n}\n");
	cr_expect_str_eq(compact, "{\"b\":9223372036854775807,\"a\":0.1}");
	cr_expect_str_eq(canonical, "{\"a\":0.1,\"b\":9223372036854775807}");
}
