/* The one table of policy fields. Everything else (parser, flags, resolved document, listing, schema) goes by it. */
#ifndef POLICY_FIELD_H
#define POLICY_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/policy/path_rule.h"
#include "runtime/policy/policy.h"

enum policy_field_id {
	FIELD_BACKEND,
	FIELD_ENFORCEMENT,
	FIELD_ROOT,
	FIELD_READ,
	FIELD_WRITE,
	FIELD_DENY,
	FIELD_PROTECT,
	FIELD_BIND,
	FIELD_TMPFS,
	FIELD_NETWORK_MODE,
	FIELD_ENV_PASS,
	FIELD_ENV_SET,
	FIELD_HOSTNAME,
	FIELD_IDENTITY,
	FIELD_NESTED_NAMESPACES,
	FIELD_SECCOMP_PROFILE,
	FIELD_SECCOMP_ALLOW,
	FIELD_SECCOMP_DENY,
	FIELD_SECCOMP_ERRNO,
	FIELD_WALL_TIME,
	FIELD_CPU_TIME,
	FIELD_MEMORY,
	FIELD_SWAP,
	FIELD_MEMORY_STRATEGY,
	FIELD_PROCESSES,
	FIELD_CPUS,
	FIELD_FILE_SIZE,
	FIELD_OPEN_FILES,
	FIELD_TMP_SIZE,
	FIELD_OUTPUT,
	FIELD_REQUIRE,
	_FIELD_COUNT
};

enum policy_kind {
	/* one value */
	KIND_WORD,
	KIND_BOOL,
	KIND_ROOT,
	KIND_TIME,  /* ns */
	KIND_SIZE,  /* bytes */
	KIND_COUNT, /* a whole number */
	KIND_MILLI, /* thousandths */
	KIND_HOSTNAME,
	KIND_PROFILE,
	KIND_ERRNO,
	/* a list of values, appended to */
	KIND_PATHS,
	KIND_PATTERNS,
	KIND_SYSCALLS,
	KIND_REQUIREMENTS,
	/* a list in which a later entry replaces the one of the same key */
	KIND_BINDS,
	KIND_TMPFS,
	KIND_VARIABLES,
	_KIND_COUNT
};

struct policy_field {
	const char *name; /* "limits.memory" */
	enum policy_kind kind;
	size_t offset;            /* of the value, or of the list's pointer, in struct policy */
	size_t n_offset;          /* of the list's length */
	const char *const *words; /* KIND_WORD */
	uint64_t min, max;        /* numbers */
	bool nullable;            /* null and "none" mean unlimited */
	bool kept;                /* lists: can never be shortened */
	enum policy_access access;
	const char *about; /* for people, in the schema */
};

extern const struct policy_field policy_fields[_FIELD_COUNT];

/* Names that are no fields themselves; the last row has no name. */
struct policy_name {
	const char *name;
	const char *about;
};

/* Keys of a document beside its fields ("version"), and the sections above fields ("process.env"). */
extern const struct policy_name policy_document_keys[];
extern const struct policy_name policy_sections[];

/* A member of the objects that are entries of a list; the last row has no name. */
struct policy_member {
	const char *name;
	enum policy_kind kind; /* of a single value; KIND_PATHS: one path */
	enum policy_path_use use;
	bool required;
	const char *about;
};

extern const struct policy_member policy_bind_members[], policy_tmpfs_members[];

bool policy_kind_is_list(enum policy_kind kind);
/* Entries have a key (a variable's name, a target) by which a later one replaces an earlier one. */
bool policy_kind_is_keyed(enum policy_kind kind);

/* _FIELD_COUNT where there is none. */
enum policy_field_id policy_field_find(const char *name);
/* "limits", "process.env": a name above others. */
bool policy_field_is_section(const char *name);
/* The field or section directly in `section` ("" at the top) whose own name is nearest to `key`, in buf; else NULL. */
const char *policy_field_nearest(const char *section, const char *key, char *buf, size_t size);
/* The nearest whole field name, or NULL. */
const char *policy_field_nearest_name(const char *name);

#endif
