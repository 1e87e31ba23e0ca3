/*
 * The entries of a manifest, from the objects that the text has, nested as it nests them, to a flat list.
 *
 * What an entry may have is one table, which the schema is made of too. An entry that has a mistake is put into the
 * list all the same, as far as it was understood, so that mistakes that show only between entries are told with the
 * others; a manifest with mistakes is thrown away in the end.
 */
#include <assert.h>
#include <string.h>

#include "base/base64.h"
#include "base/str.h"
#include "runtime/workspace/manifest_read.h"

#define KEYS_MAX  24
#define TYPES_MAX (_MANIFEST_TYPE_COUNT + 8)
#define IN(type)  (1u << MANIFEST_##type)

#define MODE_FILE      0644
#define MODE_DIRECTORY 0755

static void read_description(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);

	if (text != NULL)
		entry->description = arena_strdup(reader->arena, text);
}

static void read_ephemeral(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	if (json_is_boolean(json))
		entry->ephemeral |= json_is_true(json);
	else
		manifest_tell(reader, spot, "expected true or false, found %s", json_type_name(json));
}

/* Numbers are refused: 644 and 0644 mean different things to different readers of JSON. */
static void read_mode(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	char shown[40];

	if (!json_is_string(json)) {
		manifest_tell(reader, spot, "expected a string such as \"0644\", found %s", json_type_name(json));
		return;
	}
	if (!manifest_mode_parse(json_string_value(json), &entry->mode))
		manifest_tell(reader, spot,
			"\"%s\": a mode is written as four octal digits, the first of which is 0: \"0644\"",
			str_printable(json_string_value(json), shown, sizeof shown));
	entry->mode_given = true;
}

static void read_content(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);

	if (text == NULL)
		return;
	entry->content_size = json_string_length(json);
	entry->content = arena_strndup(reader->arena, text, entry->content_size);
}

/* Read behind the content, whatever the order of the text: see the table. */
static void read_encoding(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *name = manifest_take_string(reader, spot, json);
	char *bytes;

	if (name == NULL || strcmp(name, "utf-8") == 0 || entry->content == NULL)
		return;
	if (strcmp(name, "base64") != 0) {
		manifest_tell(reader, spot, "an encoding is \"utf-8\" or \"base64\"");
		return;
	}
	bytes = arena_alloc(reader->arena, entry->content_size / 4 * 3 + 1);
	if (bytes == NULL)
		return;
	if (base64_decode(entry->content, entry->content_size, bytes, &entry->content_size))
		entry->content = bytes;
	else
		manifest_tell(reader, spot, "the content is not base64 (RFC 4648, padded, without line breaks)");
}

static void read_source(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);
	struct manifest_fault fault;

	if (text == NULL)
		return;
	fault = manifest_source_fault(text);
	if (fault.reason != NULL)
		manifest_tell_path(reader, spot, ERROR_SANDBOX_CONFIG_INVALID, text, fault);
	entry->source = arena_strdup(reader->arena, text);
}

static void read_pattern(
	struct manifest_reader *reader, const struct json_spot *spot, const json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);
	const char **pattern;

	if (text == NULL)
		return;
	if (text[0] == '\0') {
		manifest_tell(reader, spot, "an empty pattern");
		return;
	}
	pattern = arena_push(reader->arena, &entry->exclude, &entry->n_exclude);
	if (pattern != NULL)
		*pattern = arena_strdup(reader->arena, text);
}

static void read_exclude(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	if (!json_is_array(json)) {
		manifest_tell(reader, spot, "expected a list, found %s", json_type_name(json));
		return;
	}
	if (json_array_size(json) > MANIFEST_EXCLUDES_MAX) {
		manifest_tell(reader, spot, "%zu patterns are too many; at most %d", json_array_size(json),
			MANIFEST_EXCLUDES_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(json); i++) {
		const struct json_spot element = json_spot_element(spot, i);

		read_pattern(reader, &element, json_array_get(json, i), entry);
	}
}

static void read_repo(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);
	struct manifest_fault fault;

	if (text == NULL)
		return;
	fault = manifest_source_fault(text);
	if (fault.reason == NULL && text[0] == '-')
		fault = (struct manifest_fault){"option", "it begins with '-'"};
	if (fault.reason != NULL)
		manifest_tell_path(reader, spot, ERROR_SANDBOX_CONFIG_INVALID, text, fault);
	entry->repo = arena_strdup(reader->arena, text);
}

static void read_ref(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);
	struct manifest_fault fault;

	if (text == NULL)
		return;
	fault = manifest_ref_fault(text);
	if (fault.reason != NULL)
		manifest_tell_path(reader, spot, ERROR_SANDBOX_CONFIG_INVALID, text, fault);
	entry->ref = arena_strdup(reader->arena, text);
}

static void read_subpath(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	const char *text = manifest_take_string(reader, spot, json);
	struct manifest_fault fault;

	if (text == NULL)
		return;
	fault = manifest_subpath_fault(text);
	if (fault.reason != NULL)
		manifest_tell_path(reader, spot, ERROR_INVALID_MANIFEST_PATH, text, fault);
	else if (!manifest_subpath_is_root(text))
		entry->subpath = arena_strdup(reader->arena, text);
}

static void read_strip(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *json, struct manifest_entry *entry)
{
	if (!json_is_integer(json))
		manifest_tell(reader, spot, "expected a whole number, found %s", json_type_name(json));
	else if (json_integer_value(json) < 0 || json_integer_value(json) > MANIFEST_STRIP_MAX)
		manifest_tell(reader, spot, "%" JSON_INTEGER_FORMAT " is not between 0 and %d",
			json_integer_value(json), MANIFEST_STRIP_MAX);
	else
		entry->strip_components = (unsigned)json_integer_value(json);
}

#define PATH_SCHEMA "{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095}"

/* clang-format off */
/* They are in the order in which they are read. "type" was read before and "children" comes afterwards. */
const struct manifest_key manifest_entry_keys[] = {
	{"type", MANIFEST_TYPES_ALL, MANIFEST_TYPES_ALL, NULL, NULL, "What it is."},
	{"description", MANIFEST_TYPES_ALL, 0, read_description, "{\"type\": \"string\"}", "For people."},
	{"ephemeral", MANIFEST_TYPES_ALL, 0, read_ephemeral, "{\"type\": \"boolean\", \"default\": false}",
		"Not saved, and made anew at every start, with all that lies below."},
	{"mode", MANIFEST_TYPES_ALL, 0, read_mode, "{\"type\": \"string\", \"pattern\": \"^0[0-7]{3}$\"}",
		"Permission bits, as four octal digits. Default: \"0644\" for files, \"0755\" for directories."},
	{"content", IN(FILE), IN(FILE), read_content, "{\"type\": \"string\"}", "What is in the file."},
	{"encoding", IN(FILE), 0, read_encoding, "{\"enum\": [\"utf-8\", \"base64\"], \"default\": \"utf-8\"}",
		"How the content is written down."},
	{"src", IN(LOCAL_FILE) | IN(LOCAL_DIR) | IN(ARCHIVE), IN(LOCAL_FILE) | IN(LOCAL_DIR) | IN(ARCHIVE), read_source,
		PATH_SCHEMA, "A path on the host: below the base directory, or below what the caller granted."},
	{"exclude", IN(LOCAL_DIR), 0, read_exclude,
		"{\"type\": \"array\", \"maxItems\": 1024, \"items\": {\"type\": \"string\", \"minLength\": 1}}",
		"Patterns of what is left out: of a name anywhere or, with a slash, of a path below src."},
	{"repo", IN(GIT_REPO), IN(GIT_REPO), read_repo, "{\"type\": \"string\", \"pattern\": \"^[^-]\", \"maxLength\": 4095}",
		"A repository: a path on the host, as src, or a URL."},
	{"ref", IN(GIT_REPO), 0, read_ref, "{\"type\": \"string\", \"pattern\": \"^[^-]\", \"maxLength\": 255}",
		"A branch, tag or commit. Default: what the repository's HEAD names."},
	{"subpath", IN(GIT_REPO), 0, read_subpath, "{\"type\": \"string\", \"maxLength\": 4095}",
		"A directory in the repository, which is all that is taken."},
	{"strip_components", IN(ARCHIVE), 0, read_strip,
		"{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 255, \"default\": 0}",
		"How many leading parts of each member's name are taken off."},
	{"children", IN(DIR), 0, NULL, "{\"$ref\": \"#/$defs/entries\"}", "What lies in it."},
	{.name = NULL},
};
/* clang-format on */

static const struct manifest_key *find_key(const char *name)
{
	for (const struct manifest_key *key = manifest_entry_keys; key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static void check_key(
	struct manifest_reader *reader, const struct json_spot *spot, const char *name, enum manifest_type type)
{
	const struct manifest_key *key = find_key(name);
	const struct json_spot member = json_spot_member(spot, name);
	const char *names[KEYS_MAX + 1] = {};
	size_t n = 0;

	if (key != NULL && (key->types & 1u << type) != 0)
		return;
	if (key != NULL) {
		manifest_tell(reader, &member, "an entry of type \"%s\" has no such key", manifest_type_name(type));
		return;
	}
	for (key = manifest_entry_keys; key->name != NULL; key++) {
		assert(n < KEYS_MAX);
		if ((key->types & 1u << type) != 0)
			names[n++] = key->name;
	}
	manifest_tell_unknown(reader, &member, names);
}

/* Two passes: first what does not belong there, in the order of the text, then what does, in the order of the table. */
static void read_keys(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *object, struct manifest_entry *entry)
{
	const char *name;
	json_t *json;

	json_object_foreach(object, name, json) check_key(reader, spot, name, entry->type);
	for (const struct manifest_key *key = manifest_entry_keys; key->name != NULL; key++) {
		const struct json_spot member = json_spot_member(spot, key->name);

		json = (key->types & 1u << entry->type) != 0 ? json_object_get(object, key->name) : NULL;
		if (json != NULL && key->read != NULL)
			key->read(reader, &member, json, entry);
		else if (json == NULL && (key->required & 1u << entry->type) != 0)
			manifest_tell(reader, spot, "\"%s\" is missing", key->name);
	}
}

static void append_types(struct buf *list)
{
	for (int type = 0; type < _MANIFEST_TYPE_COUNT; type++)
		buf_printf(list, "%s%s", type > 0 ? ", " : "", manifest_type_name((enum manifest_type)type));
}

static void tell_unknown_type(struct manifest_reader *reader, const struct json_spot *spot, const char *name)
{
	const char *names[TYPES_MAX + 1] = {};
	cleanup_buf struct buf list = {};
	const char *nearest;
	char shown[80];

	for (size_t i = 0; manifest_unsupported_types[i] != NULL; i++) {
		if (strcmp(manifest_unsupported_types[i], name) == 0) {
			manifest_tell(reader, spot,
				"entries of type \"%s\" are not supported: nothing is mounted into a workspace", name);
			return;
		}
	}
	for (int type = 0; type < _MANIFEST_TYPE_COUNT; type++)
		names[type] = manifest_type_name((enum manifest_type)type);
	nearest = str_nearest(name, names);
	append_types(&list);
	(void)str_printable(name, shown, sizeof shown);
	manifest_tell(reader, spot, "unknown type \"%s\"%s%s%s; there are: %s", shown,
		nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
		nearest != NULL ? "\"?" : "", buf_str(&list));
}

static bool read_type(struct manifest_reader *reader, const struct json_spot *spot, const json_t *object,
	enum manifest_type *ret_type)
{
	const struct json_spot member = json_spot_member(spot, "type");
	const json_t *json = json_object_get(object, "type");
	const char *name;

	if (json == NULL) {
		manifest_tell(reader, spot, "\"type\" is missing");
		return false;
	}
	name = manifest_take_string(reader, &member, json);
	if (name == NULL)
		return false;
	for (int type = 0; type < _MANIFEST_TYPE_COUNT; type++) {
		if (strcmp(name, manifest_type_name((enum manifest_type)type)) == 0) {
			*ret_type = (enum manifest_type)type;
			return true;
		}
	}
	tell_unknown_type(reader, &member, name);
	return false;
}

/* NULL, and told, where the key is no place in a workspace. */
static const char *read_path(
	struct manifest_reader *reader, const struct json_spot *spot, const char *key, const char *above)
{
	struct manifest_fault fault = manifest_destination_fault(key);
	const char *path = above == NULL ? key : arena_printf(reader->arena, "%s/%s", above, key);

	if (fault.reason == NULL && path != NULL)
		fault = manifest_destination_fault(path); /* which may be too long now */
	if (fault.reason == NULL)
		return path != NULL ? arena_strdup(reader->arena, path) : NULL;
	manifest_tell_path(reader, spot, ERROR_INVALID_MANIFEST_PATH, key, fault);
	return NULL;
}

static void read_entry(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *object, const char *above, bool ephemeral)
{
	const char *path = read_path(reader, spot, spot->key, above);
	struct manifest_entry entry = {.path = path, .ephemeral = ephemeral};
	struct manifest_entry *put;

	if (!json_is_object(object)) {
		manifest_tell(reader, spot, "expected an object, found %s", json_type_name(object));
		return;
	}
	if (!read_type(reader, spot, object, &entry.type))
		return;
	entry.place = manifest_place(reader, spot);
	entry.mode = manifest_type_is_directory(entry.type) ? MODE_DIRECTORY : MODE_FILE;
	read_keys(reader, spot, object, &entry);
	if (path != NULL) {
		put = arena_push(reader->arena, &reader->manifest->entries, &reader->manifest->n_entries);
		if (put != NULL)
			*put = entry;
	}
	if (entry.type == MANIFEST_DIR && json_object_get(object, "children") != NULL) {
		const struct json_spot children = json_spot_member(spot, "children");

		manifest_read_entries(reader, &children, json_object_get(object, "children"), path != NULL ? path : "x",
			entry.ephemeral);
	}
}

void manifest_read_entries(
	struct manifest_reader *reader, const struct json_spot *spot, json_t *object, const char *above, bool ephemeral)
{
	const char *key;
	json_t *json;

	if (!json_is_object(object)) {
		manifest_tell(reader, spot, "expected an object, found %s", json_type_name(object));
		return;
	}
	if (reader->manifest->n_entries + json_object_size(object) > MANIFEST_ENTRIES_MAX) {
		manifest_tell(reader, spot, "more than %d entries", MANIFEST_ENTRIES_MAX);
		return;
	}
	json_object_foreach(object, key, json)
	{
		const struct json_spot member = json_spot_member(spot, key);

		read_entry(reader, &member, json, above, ephemeral);
	}
}
