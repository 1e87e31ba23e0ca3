/* Between the files that read a manifest. */
#ifndef WORKSPACE_MANIFEST_READ_H
#define WORKSPACE_MANIFEST_READ_H

#include "base/arena.h"
#include "base/json_spot.h"
#include "runtime/workspace/manifest.h"
#include "runtime/workspace/manifest_path.h"

struct manifest_reader {
	struct arena *arena; /* owns the manifest and itself */
	struct manifest *manifest;
	struct json_text_source source;
	/* Of the first mistake, for the error that stands for all. */
	enum error_code code;
	const char *reason, *path;
};

/* A key that an object may have, for the parser and for the schema; ends with a row without a name. */
struct manifest_key {
	const char *name;
	unsigned types; /* of entries that have it: 1 << MANIFEST_...; 0: no entry's */
	unsigned required;
	void (*read)(struct manifest_reader *reader, const struct json_spot *spot, json_t *json,
		struct manifest_entry *entry);
	const char *schema; /* JSON text */
	const char *about;
};

#define MANIFEST_TYPES_ALL ((1u << _MANIFEST_TYPE_COUNT) - 1)

extern const struct manifest_key manifest_entry_keys[];
extern const char *const manifest_unsupported_types[]; /* NULL-terminated */

void manifest_tell(struct manifest_reader *reader, const struct json_spot *spot, const char *fmt, ...) printf_like(3, 4);
/* The same for a path that cannot be. code: of the error where it is the first mistake. */
void manifest_tell_path(struct manifest_reader *reader, const struct json_spot *spot, enum error_code code,
	const char *path, struct manifest_fault fault);
/* "unknown key", with the nearest of `names` (NULL-terminated). */
void manifest_tell_unknown(struct manifest_reader *reader, const struct json_spot *spot, const char *const *names);
/* "FILE:LINE:COL: NAME", in the arena. */
const char *manifest_place(struct manifest_reader *reader, const struct json_spot *spot);
/* NULL, and told, where it is no string. */
const char *manifest_take_string(struct manifest_reader *reader, const struct json_spot *spot, const json_t *json);

/* above: the path of the directory whose children these are; NULL: the workspace. */
void manifest_read_entries(struct manifest_reader *reader, const struct json_spot *spot, json_t *object,
	const char *above, bool ephemeral);
void manifest_read_environment(struct manifest_reader *reader, const struct json_spot *spot, json_t *object);
/* What no single entry shows: two for one place, one below a file. */
must_check int manifest_check_places(struct manifest_reader *reader, struct error *err);

#endif
