/*
 * The environment that a manifest asks for its commands: values, and references to what the caller has. Only the form
 * of a reference is checked here; what it stands for is read by whoever starts a command, and nowhere kept.
 *
 * Threat: what stands here may be a secret that somebody has put in the wrong place. No message repeats any of it.
 */
#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "runtime/workspace/manifest_read.h"

static bool is_fd(const char *text)
{
	struct error err;
	uint64_t fd;

	return str_parse_u64(text, 0, INT_MAX, &fd, &err) == 0;
}

static bool is_file(const char *text)
{
	return manifest_source_fault(text).reason == NULL;
}

static bool is_name(const char *text)
{
	return text[0] != '\0' && strchr(text, '=') == NULL;
}

static const struct {
	enum manifest_reference reference;
	const char *prefix, *form;
	bool (*is)(const char *text);
} forms[] = {
	{REFERENCE_FD, "fd:", "\"fd:N\" with the number of an open descriptor", is_fd},
	{REFERENCE_FILE, "file:", "\"file:PATH\"", is_file},
	{REFERENCE_ENV, "env:", "\"env:NAME\" with the name of a variable", is_name},
};

#define N_FORMS (sizeof forms / sizeof *forms)

static void read_from(struct manifest_reader *reader, const struct json_spot *spot, const char *text,
	struct manifest_variable *variable)
{
	for (size_t i = 0; i < N_FORMS; i++) {
		if (!str_starts_with(text, forms[i].prefix))
			continue;
		if (!forms[i].is(text + strlen(forms[i].prefix)))
			manifest_tell(reader, spot, "expected %s", forms[i].form);
		variable->from = forms[i].reference;
		variable->text = arena_strdup(reader->arena, text);
		return;
	}
	manifest_tell(reader, spot, "unknown reference; there are: fd:N, file:PATH, env:NAME");
}

static void read_reference(struct manifest_reader *reader, const struct json_spot *spot, json_t *object,
	struct manifest_variable *variable)
{
	static const char *const names[] = {"from", NULL};
	const struct json_spot member = json_spot_member(spot, "from");
	const char *text;
	const char *key;
	json_t *json;

	json_object_foreach(object, key, json)
	{
		const struct json_spot other = json_spot_member(spot, key);

		if (strcmp(key, "from") != 0)
			manifest_tell_unknown(reader, &other, names);
	}
	json = json_object_get(object, "from");
	if (json == NULL) {
		manifest_tell(reader, spot, "\"from\" is missing");
		return;
	}
	text = manifest_take_string(reader, &member, json);
	if (text != NULL)
		read_from(reader, &member, text, variable);
}

static void read_value(struct manifest_reader *reader, const struct json_spot *spot, const json_t *json,
	struct manifest_variable *variable)
{
	variable->text = arena_strdup(reader->arena, json_string_value(json));
	if (strlen(variable->name) + json_string_length(json) + 2 > MANIFEST_VARIABLE_BYTES_MAX)
		manifest_tell(reader, spot, "name and value together are longer than the kernel takes (128 KiB)");
}

static void read_variable(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	struct manifest_variable *variable =
		arena_push(reader->arena, &reader->manifest->variables, &reader->manifest->n_variables);

	if (variable == NULL)
		return;
	variable->name = arena_strdup(reader->arena, spot->key);
	variable->place = manifest_place(reader, spot);
	if (variable->name == NULL)
		return;
	if (!is_name(spot->key))
		manifest_tell(reader, spot, "the name of a variable is not empty and has no '='");
	if (json_is_string(json))
		read_value(reader, spot, json, variable);
	else if (json_is_object(json))
		read_reference(reader, spot, json, variable);
	else
		manifest_tell(
			reader, spot, "expected a string, or an object with \"from\"; found %s", json_type_name(json));
}

void manifest_read_environment(struct manifest_reader *reader, const struct json_spot *spot, json_t *object)
{
	const char *key;
	json_t *json;

	if (!json_is_object(object)) {
		manifest_tell(reader, spot, "expected an object, found %s", json_type_name(object));
		return;
	}
	if (json_object_size(object) > MANIFEST_VARIABLES_MAX) {
		manifest_tell(reader, spot, "%zu variables are too many; at most %d", json_object_size(object),
			MANIFEST_VARIABLES_MAX);
		return;
	}
	json_object_foreach(object, key, json)
	{
		const struct json_spot member = json_spot_member(spot, key);

		read_variable(reader, &member, json);
	}
}
