/* The merged values of a policy, each with who said it; layers are put in one after another. */
#ifndef POLICY_SETTINGS_H
#define POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "runtime/policy/field.h"

/* More entries in one list, besides those of built-ins, than any plan can mount. */
#define POLICY_LIST_MAX  32768
#define POLICY_KEYED_MAX 4096

struct policy_origin {
	const char *label;     /* "built-in :read-only", "--memory", "/a/policy.json" */
	unsigned line, column; /* 0: the label says it all */
	bool builtin;
	bool secret; /* the shipped table of secrets */
};

/* One value or list entry, whatever its kind; see the table in value.h for what is used. */
struct policy_item {
	struct policy_origin origin;
	const char *text;
	const char *second;
	uint64_t number;
	bool flag;
};

struct policy_setting {
	struct policy_item *items; /* scalars: at most one */
	size_t n;
	size_t n_builtin; /* the first of them came from built-ins */
	bool cleared;     /* what was there before was taken out */
};

struct policy_settings {
	struct arena *arena;
	const char *base;                           /* the built-in that everything else lies on: ":eval" */
	struct policy_setting fields[_FIELD_COUNT]; /* what layers and flags said; "deny" without the secrets */
};

/* How many values a field has, and each; those of the shipped table of secrets, which are in every policy and stored in
 * none, come first in "deny". */
size_t policy_settings_count(const struct policy_settings *settings, enum policy_field_id id);
struct policy_item policy_settings_item(const struct policy_settings *settings, enum policy_field_id id, size_t index);
/* Scalars are replaced, lists appended to. False where the list is full; a lack of memory is kept by the arena. */
bool policy_settings_put(struct policy_settings *settings, enum policy_field_id id, const struct policy_item *item);
void policy_settings_clear(struct policy_settings *settings, enum policy_field_id id);

/* "LABEL:LINE:COL" or "LABEL"; for messages. */
void policy_origin_place(const struct policy_origin *origin, struct buf *buf);
/* "LABEL:LINE" or "LABEL"; for people. */
void policy_origin_text(const struct policy_origin *origin, struct buf *buf);

#endif
