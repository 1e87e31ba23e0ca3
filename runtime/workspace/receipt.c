/*
 * The receipt lists every entry in the order of the manifest, whatever the order in which they were made. What is not
 * known is null: the digests of a dry run, the size of what was kept.
 */
#include "runtime/workspace/receipt.h"

#include "base/json.h"

static const char *const action_words[_RECEIPT_ACTION_COUNT] = {
	[RECEIPT_KEPT] = "kept",
	[RECEIPT_CREATED] = "created",
	[RECEIPT_REPLACED] = "replaced",
	[RECEIPT_MERGED] = "merged",
};

static const char *const reader_words[_RECEIPT_READER_COUNT] = {
	[RECEIPT_UNPRIVILEGED] = "unprivileged",
	[RECEIPT_CALLER] = "caller",
};

static json_t *mode_json(const struct receipt_row *row)
{
	return row->action == RECEIPT_KEPT ? json_null() : json_sprintf("%04o", row->mode);
}

static json_t *count_json(const struct receipt_row *row, uint64_t count)
{
	return row->built ? json_u64(count) : json_null();
}

static json_t *digest_json(const struct receipt_row *row, bool wanted)
{
	return row->built && wanted ? json_string(row->fingerprint.sha256) : json_null();
}

static json_t *row_json(const struct manifest_entry *entry, const struct receipt_row *row)
{
	bool directory = manifest_type_is_directory(entry->type);

	return json_pack("{s:o, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:s?}", "path", json_text(entry->path), "type",
		manifest_type_name(entry->type), "action", action_words[row->action], "ephemeral", entry->ephemeral,
		"mode", mode_json(row), "files", count_json(row, row->fingerprint.files), "bytes",
		count_json(row, row->fingerprint.bytes), "sha256", digest_json(row, !directory), "tree_sha256",
		digest_json(row, directory), "reader", reader_words[row->reader]);
}

static json_t *entries_json(const struct manifest *manifest, const struct receipt *receipt)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; i < manifest->n_entries; i++)
		if (json_array_append_new(list, row_json(&manifest->entries[i], &receipt->rows[i])) < 0)
			return NULL;
	return json_incref(list);
}

/* Names, and where a value would come from; never a value. */
static json_t *variable_json(const struct manifest_variable *variable)
{
	static const char *const from[_REFERENCE_COUNT] = {
		[REFERENCE_FD] = "fd", [REFERENCE_FILE] = "file", [REFERENCE_ENV] = "env"};

	return json_pack("{s:o, s:s?}", "name", json_text(variable->name), "from", from[variable->from]);
}

static json_t *environment_json(const struct manifest *manifest)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; i < manifest->n_variables; i++)
		if (json_array_append_new(list, variable_json(&manifest->variables[i])) < 0)
			return NULL;
	return json_incref(list);
}

/* What directories of the manifest hold is counted with their children. */
static json_t *total_json(const struct manifest *manifest, const struct receipt *receipt, bool bytes)
{
	uint64_t total = 0;

	if (receipt->dry_run)
		return json_null();
	for (size_t i = 0; i < manifest->n_entries; i++)
		if (manifest->entries[i].type != MANIFEST_DIR)
			total += bytes ? receipt->rows[i].fingerprint.bytes : receipt->rows[i].fingerprint.files;
	return json_u64(total);
}

int receipt_json(const struct manifest *manifest, const struct receipt *receipt, const char *destination,
	char **ret_json, struct error *err)
{
	cleanup_json json_t *json = json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "schema", "pinfold.receipt/1",
		"manifest", json_text(manifest->label), "destination", json_text(destination), "dry_run",
		receipt->dry_run, "files", total_json(manifest, receipt, false), "bytes",
		total_json(manifest, receipt, true), "entries", entries_json(manifest, receipt), "environment",
		environment_json(manifest));
	char *text = json != NULL ? json_to_string(json, 1) : NULL;

	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}
