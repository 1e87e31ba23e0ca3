/*
 * A manifest after parsing and checks: what is to be in a workspace, const from here on. Entries are in the order of
 * the text, a directory before its children; nothing in it has been looked at on disk.
 */
#ifndef WORKSPACE_MANIFEST_H
#define WORKSPACE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/diag.h"
#include "base/error.h"

#define MANIFEST_VERSION       1
#define MANIFEST_BYTES_MAX     ((size_t)16 << 20)
#define MANIFEST_ENTRIES_MAX   65536
#define MANIFEST_VARIABLES_MAX 4096
#define MANIFEST_EXCLUDES_MAX  1024
#define MANIFEST_STRIP_MAX     255
/* "NAME=VALUE" with the NUL: the kernel's MAX_ARG_STRLEN. */
#define MANIFEST_VARIABLE_BYTES_MAX ((size_t)128 << 10)

enum manifest_type {
	MANIFEST_FILE,
	MANIFEST_DIR,
	MANIFEST_LOCAL_FILE,
	MANIFEST_LOCAL_DIR,
	MANIFEST_GIT_REPO,
	MANIFEST_ARCHIVE,
	_MANIFEST_TYPE_COUNT
};

struct manifest_entry {
	enum manifest_type type;
	const char *path;  /* in the workspace: relative, tidy */
	const char *place; /* "FILE:LINE:COL: NAME", for messages */
	const char *description;
	mode_t mode; /* permission bits */
	bool mode_given;
	bool ephemeral; /* by itself, or because it lies in one that is */
	/* file */
	const char *content;
	size_t content_size;
	/* local_file, local_dir, archive: as written */
	const char *source;
	const char **exclude; /* patterns */
	size_t n_exclude;
	/* git_repo: as written; ref and subpath may be NULL: the default branch, the whole tree */
	const char *repo, *ref, *subpath;
	/* archive */
	unsigned strip_components;
};

enum manifest_reference {
	REFERENCE_NONE, /* the value stands in the manifest */
	REFERENCE_FD,
	REFERENCE_FILE,
	REFERENCE_ENV,
	_REFERENCE_COUNT
};

struct manifest_variable {
	const char *name;
	enum manifest_reference from;
	const char *text;  /* the value, or the reference as written: "fd:3" */
	const char *place; /* as in an entry */
};

struct manifest {
	const char *label;
	struct manifest_entry *entries;
	size_t n_entries;
	/* The same in the order of their paths, part by part: what lies below an entry comes right behind it. */
	struct manifest_entry **by_path;
	struct manifest_variable *variables;
	size_t n_variables;
};

/* Every mistake is in diag, and the first in err: ERROR_INVALID_MANIFEST_PATH (context: reason, path) where that is
 * about a destination, else ERROR_SANDBOX_CONFIG_INVALID. label: names the text in messages. */
must_check int manifest_parse(const char *text, size_t size, const char *label, struct manifest **ret_manifest,
	struct diag *diag, struct error *err);
struct manifest *manifest_free(struct manifest *manifest);
CLEANUP_DEFINE(struct manifest, manifest_free)

/* `above` and `path` are tidy; true where path is above itself or lies below it. */
bool manifest_path_is_within(const char *path, const char *above);
const char *manifest_type_name(enum manifest_type type);
bool manifest_type_is_directory(enum manifest_type type);
/* The JSON Schema (draft 2020-12); malloc'ed. */
must_check int manifest_schema_json(char **ret_json, struct error *err);

#endif
