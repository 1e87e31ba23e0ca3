/*
 * A manifest from its text to an immutable tree in an arena of its own.
 *
 * Threat: the text was written by somebody whom the caller does not trust; it may only ask for what the manifest
 * language has. What would extend its own rights (grants, users) is known by name and refused, so that nobody can take
 * silence for consent. All mistakes are told at once, each with its place.
 *
 * A value of the environment is never repeated in a message: it may be a secret.
 */
#include "runtime/workspace/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "runtime/workspace/manifest_read.h"

/* Owns what a manifest is made of; the manifest lies in it. */
struct owned {
	struct manifest manifest; /* first: a pointer to one is a pointer to the other */
	struct arena *arena;
};

static const char *const type_names[_MANIFEST_TYPE_COUNT] = {
	[MANIFEST_FILE] = "file",
	[MANIFEST_DIR] = "dir",
	[MANIFEST_LOCAL_FILE] = "local_file",
	[MANIFEST_LOCAL_DIR] = "local_dir",
	[MANIFEST_GIT_REPO] = "git_repo",
	[MANIFEST_ARCHIVE] = "archive",
};

const char *const manifest_unsupported_types[] = {"mount", "s3_mount", "gcs_mount", "r2_mount", "azure_blob_mount", NULL};

const char *manifest_type_name(enum manifest_type type)
{
	return type_names[type];
}

bool manifest_type_is_directory(enum manifest_type type)
{
	return type != MANIFEST_FILE && type != MANIFEST_LOCAL_FILE;
}

struct manifest *manifest_free(struct manifest *manifest)
{
	if (manifest != NULL)
		(void)arena_free(((struct owned *)manifest)->arena);
	return NULL;
}

static bool is_first(const struct manifest_reader *reader)
{
	return reader->source.diag->n_errors == 0;
}

void manifest_tell(struct manifest_reader *reader, const struct json_spot *spot, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	json_spot_tellv(&reader->source, spot, fmt, args);
	va_end(args);
}

void manifest_tell_path(struct manifest_reader *reader, const struct json_spot *spot, enum error_code code,
	const char *path, struct manifest_fault fault)
{
	char shown[200];

	if (is_first(reader)) {
		reader->code = code;
		reader->reason = fault.reason;
		reader->path = arena_strdup(reader->arena, path);
	}
	manifest_tell(reader, spot, "\"%s\": %s", str_printable(path, shown, sizeof shown), fault.text);
}

void manifest_tell_unknown(struct manifest_reader *reader, const struct json_spot *spot, const char *const *names)
{
	const char *nearest = str_nearest(spot->key, names);

	if (nearest != NULL)
		manifest_tell(reader, spot, "unknown key; did you mean \"%s\"?", nearest);
	else
		manifest_tell(reader, spot, "unknown key");
}

const char *manifest_place(struct manifest_reader *reader, const struct json_spot *spot)
{
	struct json_place place = json_spot_place(&reader->source, spot);
	cleanup_buf struct buf name = {};

	json_spot_name(spot, &name);
	return arena_printf(
		reader->arena, "%s:%u:%u: %s", reader->source.label, place.line, place.column, buf_str(&name));
}

const char *manifest_take_string(struct manifest_reader *reader, const struct json_spot *spot, const json_t *json)
{
	if (json_is_string(json))
		return json_string_value(json);
	manifest_tell(reader, spot, "expected a string, found %s", json_type_name(json));
	return NULL;
}

static void read_version(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	if (!json_is_integer(json))
		manifest_tell(reader, spot, "expected %d, found %s", MANIFEST_VERSION, json_type_name(json));
	else if (json_integer_value(json) != MANIFEST_VERSION)
		manifest_tell(reader, spot, "version %" JSON_INTEGER_FORMAT " is not known; this is version %d",
			json_integer_value(json), MANIFEST_VERSION);
}

static void read_text(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	(void)manifest_take_string(reader, spot, json);
}

static void read_root(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	manifest_read_entries(reader, spot, json, NULL, false);
}

/* Only the application grants: a list that is empty grants nothing, and is what some writers of manifests put. */
static void refuse_grants(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	if (!json_is_array(json) || json_array_size(json) > 0)
		manifest_tell(reader, spot,
			"a manifest grants nothing: what lies outside the base directory is granted by the caller, with "
			"--grant PATH[:ro] or a policy");
}

static void refuse_identities(struct manifest_reader *reader, const struct json_spot *spot, json_t *json)
{
	if (!json_is_array(json) || json_array_size(json) > 0)
		manifest_tell(reader, spot, "not supported: a workspace belongs to who materializes it");
}

static const struct {
	const char *name;
	void (*read)(struct manifest_reader *reader, const struct json_spot *spot, json_t *json);
} document_keys[] = {
	{"version", read_version},
	{"description", read_text},
	{"$schema", read_text},
	{"entries", read_root},
	{"environment", manifest_read_environment},
	{"extra_path_grants", refuse_grants},
	{"users", refuse_identities},
	{"groups", refuse_identities},
};

#define N_KEYS (sizeof document_keys / sizeof *document_keys)

static void read_key(struct manifest_reader *reader, const struct json_spot *top, const char *key, json_t *json)
{
	const struct json_spot spot = json_spot_member(top, key);
	const char *names[N_KEYS + 1] = {};

	for (size_t i = 0; i < N_KEYS; i++) {
		names[i] = document_keys[i].name;
		if (strcmp(names[i], key) == 0) {
			document_keys[i].read(reader, &spot, json);
			return;
		}
	}
	manifest_tell_unknown(reader, &spot, names);
}

static void read_document(struct manifest_reader *reader, json_t *root)
{
	const struct json_spot top = {};
	const char *key;
	json_t *json;

	if (!json_is_object(root)) {
		manifest_tell(reader, &top, "expected an object, found %s", json_type_name(root));
		return;
	}
	if (json_object_get(root, "version") == NULL)
		manifest_tell(reader, &top, "\"version\" is missing; this is version %d", MANIFEST_VERSION);
	json_object_foreach(root, key, json) read_key(reader, &top, key, json);
}

/* The one error that stands for all that is in the diag. */
static int sum_up(const struct manifest_reader *reader, struct error *err)
{
	if (diag_check(reader->source.diag, reader->code, err) == 0)
		return 0;
	if (reader->reason != NULL && err != NULL && err->code == reader->code) {
		error_add_context(err, "reason", reader->reason);
		error_add_context(err, "path", reader->path != NULL ? reader->path : "");
	}
	return -1;
}

static int read_text_of(struct manifest_reader *reader, const char *text, size_t size, struct error *err)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_json json_t *root = NULL;
	int r = 0;

	if (size > MANIFEST_BYTES_MAX)
		return error_set(err, ERROR_SANDBOX_CONFIG_INVALID, "manifest",
			"%s: larger than a manifest can be (16 MiB)", reader->source.label);
	if (json_parse_places_duplicates(text, size, reader->source.label, &root, &places, reader->source.diag) == 0) {
		reader->source.places = places;
		read_document(reader, root);
		r = manifest_check_places(reader, err);
		reader->source.places = NULL;
	}
	if (r < 0 || arena_check(reader->arena, err) < 0)
		return -1;
	return sum_up(reader, err);
}

static int read_into(struct arena *arena, const char *text, size_t size, const char *label, struct diag *diag,
	struct owned **ret, struct error *err)
{
	struct owned *owned = arena_alloc(arena, sizeof *owned);
	struct manifest_reader reader = {
		.arena = arena,
		.source = {.label = arena_strdup(arena, label), .diag = diag},
		.code = ERROR_SANDBOX_CONFIG_INVALID,
	};

	if (arena_check(arena, err) < 0)
		return -1;
	owned->arena = arena;
	owned->manifest.label = reader.source.label;
	reader.manifest = &owned->manifest;
	if (read_text_of(&reader, text, size, err) < 0)
		return -1;
	*ret = owned;
	return 0;
}

int manifest_parse(const char *text, size_t size, const char *label, struct manifest **ret_manifest, struct diag *diag,
	struct error *err)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct owned *owned;

	if (arena_new(&arena, err) < 0 || read_into(arena, text, size, label, diag, &owned, err) < 0)
		return -1;
	(void)steal_ptr(&arena);
	*ret_manifest = &owned->manifest;
	return 0;
}
