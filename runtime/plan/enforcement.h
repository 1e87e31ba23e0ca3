/*
 * The enforcement table: for each thing asked, who enforces it, how strongly, and what is lost. The plan fills it,
 * check prints it, every result carries it. Rows are kept in the order of the vocabulary.
 */
#ifndef PLAN_ENFORCEMENT_H
#define PLAN_ENFORCEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/policy/policy.h"

enum row_state {
	ROW_OFF,
	ROW_ENFORCED,
	ROW_DEGRADED,
	ROW_UNENFORCEABLE,
	_ROW_STATE_COUNT
};
enum row_strength {
	STRENGTH_NONE,
	STRENGTH_KERNEL,
	STRENGTH_SUPERVISED,
	_STRENGTH_COUNT
};
enum row_scope {
	SCOPE_NONE,
	SCOPE_TREE,
	SCOPE_PROCESS,
	_SCOPE_COUNT
};

struct enforcement_row {
	const char *name; /* "network", "memory" */
	bool required;    /* policy "require" is not met by it: no mode may run without it */
	bool limit;       /* a row of "limits" rather than "features" */
	bool has_asked;   /* limits: false where unlimited was asked */
	double asked;     /* limits: in the unit of unit */
	const char *unit; /* "ns", "bytes", "count", "cpus"; the JSON writes integers except for cpus, times in ms */
	enum row_state state;
	enum row_strength strength;
	enum row_scope scope;
	const char *mechanism; /* NULL where off or unenforceable */
	const char *reason;    /* NULL or why degraded / unenforceable / what is to be known */
	const char *fix;       /* NULL or the remedy */
};

struct enforcement {
	struct enforcement_row *rows;
	size_t n_rows;
	const char **warnings;
	size_t n_warnings;
	const char *backend; /* "namespaces" or "none" */
	bool isolated;
	const char *kernel;
	struct policy_text policy_text; /* whose digest is told */
};

const char *row_state_name(enum row_state state);
const char *row_strength_name(enum row_strength strength); /* NULL for NONE */
const char *row_scope_name(enum row_scope scope);          /* NULL for NONE */
/* The worst row. */
enum row_state enforcement_verdict(const struct enforcement *enforcement);
/* NULL where there is no such row; `limit` tells "limits.NAME" from features. */
struct enforcement_row *enforcement_find(const struct enforcement *enforcement, bool limit, const char *name);
/* The pinfold.report/1 object; the caller owns the reference. */
struct json_t; /* of jansson */
must_check int enforcement_json(const struct enforcement *enforcement, struct json_t **ret_json, struct error *err);
/* A table for people, malloc'ed, ending in a newline. */
must_check int enforcement_text(const struct enforcement *enforcement, bool color, char **ret_text, struct error *err);

#endif
