/*
 * The enforcement table and its document. A table is filled by the plan and only read here: every state, mechanism and
 * reason that a person or a program is told comes from these rows, so that `check`, `wrap` and the result of a run
 * cannot disagree. The verdict is not stored but taken from the rows each time, for the same reason.
 *
 * In JSON every key is always present, null where nothing is to be said. What was asked is an integer in the unit named
 * beside it: times in milliseconds, rounded up, so that a limit below a millisecond does not read as none. CPUs alone
 * are a fraction. The table for people is in enforcement_text.c.
 *
 * Texts may hold parts of paths, which need not be UTF-8: json_text makes them so.
 */
#include "runtime/plan/enforcement.h"

#include "base/json.h"
#include "base/str.h"
#include "runtime/policy/digest.h"

static const char *const state_names[_ROW_STATE_COUNT] = {
	[ROW_OFF] = "off",
	[ROW_ENFORCED] = "enforced",
	[ROW_DEGRADED] = "degraded",
	[ROW_UNENFORCEABLE] = "unenforceable",
};

static const char *const strength_names[_STRENGTH_COUNT] = {
	[STRENGTH_KERNEL] = "kernel",
	[STRENGTH_SUPERVISED] = "supervised",
};

static const char *const scope_names[_SCOPE_COUNT] = {
	[SCOPE_TREE] = "tree",
	[SCOPE_PROCESS] = "process",
};

const char *row_state_name(enum row_state state)
{
	return state_names[state];
}

const char *row_strength_name(enum row_strength strength)
{
	return strength_names[strength];
}

const char *row_scope_name(enum row_scope scope)
{
	return scope_names[scope];
}

enum row_state enforcement_verdict(const struct enforcement *enforcement)
{
	enum row_state worst = ROW_ENFORCED;

	for (size_t i = 0; i < enforcement->n_rows; i++)
		if (enforcement->rows[i].state > worst)
			worst = enforcement->rows[i].state;
	return worst;
}

struct enforcement_row *enforcement_find(const struct enforcement *enforcement, bool limit, const char *name)
{
	for (size_t i = 0; i < enforcement->n_rows; i++) {
		struct enforcement_row *row = &enforcement->rows[i];

		if (row->limit == limit && str_equal(row->name, name))
			return row;
	}
	return NULL;
}

/* Rounded up; what no integer can hold is clamped: a report never shows a negative limit. */
static json_t *json_whole(double value)
{
	json_int_t whole;

	if (!(value > 0))
		return json_integer(0);
	if (value >= 9.2e18)
		return json_integer(INT64_MAX);
	whole = (json_int_t)value;
	return json_integer((double)whole < value ? whole + 1 : whole);
}

static json_t *json_asked(const struct enforcement_row *row)
{
	if (!row->has_asked)
		return json_null();
	if (str_equal(row->unit, "cpus"))
		return json_real(row->asked);
	if (str_equal(row->unit, "ns"))
		return json_whole(row->asked / 1e6);
	return json_whole(row->asked);
}

static int put_asked(json_t *object, const struct enforcement_row *row)
{
	const char *unit = str_equal(row->unit, "ns") ? "ms" : row->unit;

	if (json_put(object, "asked", json_asked(row)) < 0)
		return -1;
	return json_put(object, "unit", json_text(unit));
}

static json_t *json_row(const struct enforcement_row *row)
{
	cleanup_json json_t *object = json_object();

	if (json_put(object, "name", json_text(row->name)) < 0)
		return NULL;
	if (row->limit && put_asked(object, row) < 0)
		return NULL;
	if (json_put(object, "state", json_text(row_state_name(row->state))) < 0 ||
		json_put(object, "mechanism", json_text(row->mechanism)) < 0 ||
		json_put(object, "strength", json_text(row_strength_name(row->strength))) < 0)
		return NULL;
	if (row->limit && json_put(object, "scope", json_text(row_scope_name(row->scope))) < 0)
		return NULL;
	if (json_put(object, "reason", json_text(row->reason)) < 0 || json_put(object, "fix", json_text(row->fix)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *json_rows(const struct enforcement *enforcement, bool limit)
{
	cleanup_json json_t *array = json_array();

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		if (enforcement->rows[i].limit != limit)
			continue;
		if (json_array_append_new(array, json_row(&enforcement->rows[i])) < 0)
			return NULL;
	}
	return steal_ptr(&array);
}

static json_t *json_warnings(const struct enforcement *enforcement)
{
	cleanup_json json_t *array = json_array();

	for (size_t i = 0; i < enforcement->n_warnings; i++)
		if (json_array_append_new(array, json_text(enforcement->warnings[i])) < 0)
			return NULL;
	return steal_ptr(&array);
}

static json_t *json_report(const struct enforcement *enforcement, const char *digest)
{
	cleanup_json json_t *report = json_object();
	const char *verdict = row_state_name(enforcement_verdict(enforcement));

	if (json_put(report, "schema", json_text("pinfold.report/1")) < 0 ||
		json_put(report, "verdict", json_text(verdict)) < 0 ||
		json_put(report, "backend", json_text(enforcement->backend)) < 0 ||
		json_put(report, "isolated", json_boolean(enforcement->isolated)) < 0 ||
		json_put(report, "kernel", json_text(enforcement->kernel)) < 0 ||
		json_put(report, "policy_digest", json_text(digest)) < 0 ||
		json_put(report, "features", json_rows(enforcement, false)) < 0 ||
		json_put(report, "limits", json_rows(enforcement, true)) < 0 ||
		json_put(report, "warnings", json_warnings(enforcement)) < 0)
		return NULL;
	return steal_ptr(&report);
}

int enforcement_json(const struct enforcement *enforcement, struct json_t **ret_json, struct error *err)
{
	char digest[POLICY_DIGEST_SIZE];
	json_t *report;

	if (policy_digest(&enforcement->policy_text, digest, err) < 0)
		return -1;
	report = json_report(enforcement, digest);
	if (report == NULL)
		return error_no_memory(err);
	*ret_json = report;
	return 0;
}
