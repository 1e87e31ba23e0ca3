/*
 * A policy while it is put together. The document owns two arenas: one for the settings, which grows with every layer
 * and flag, and one for what they last resolved to, thrown away by the next change.
 *
 * A value that is refused changes nothing: it is read first and put afterwards.
 */
#include "runtime/policy/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "runtime/policy/load.h"
#include "runtime/policy/report.h"
#include "runtime/policy/resolve.h"
#include "runtime/policy/settings_own.h"
#include "runtime/policy/value.h"

struct policy_document {
	struct policy_settings settings;
	const char *name;
	struct arena *resolved; /* NULL: not resolved since the last change */
	const struct policy *policy;
};

struct policy_document *policy_document_free(struct policy_document *document)
{
	if (document == NULL)
		return NULL;
	document->resolved = arena_free(document->resolved);
	document->settings.arena = arena_free(document->settings.arena);
	free(document);
	return NULL;
}

static int document_new(const char *name, struct policy_document **ret_document, struct error *err)
{
	cleanup_with(policy_document_freep) struct policy_document *document = calloc(1, sizeof *document);

	if (document == NULL) {
		(void)error_no_memory(err);
		return -1;
	}
	if (arena_new(&document->settings.arena, err) < 0)
		return -1;
	document->name = arena_strdup(document->settings.arena, name);
	*ret_document = steal_ptr(&document);
	return 0;
}

static int check_loaded(const struct policy_document *document, const struct diag *diag, struct error *err)
{
	if (arena_check(document->settings.arena, err) < 0)
		return -1;
	return diag_check(diag, ERROR_POLICY_INVALID, err);
}

int policy_document_load(const char *name, struct policy_document **ret_document, struct diag *diag, struct error *err)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;

	if (document_new(name, &document, err) < 0)
		return -1;
	policy_load_name(&document->settings, name, diag);
	if (check_loaded(document, diag, err) < 0)
		return -1;
	*ret_document = steal_ptr(&document);
	return 0;
}

int policy_document_parse(const char *text, const char *label, const char *directory,
	struct policy_document **ret_document, struct diag *diag, struct error *err)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;

	if (document_new(label, &document, err) < 0)
		return -1;
	policy_load_text(&document->settings, text, label, directory, diag);
	if (check_loaded(document, diag, err) < 0)
		return -1;
	*ret_document = steal_ptr(&document);
	return 0;
}

static void forget_resolved(struct policy_document *document)
{
	document->resolved = arena_free(document->resolved);
	document->policy = NULL;
}

static printf_like(4, 5) int refuse(const char *origin, struct diag *diag, struct error *err, const char *fmt, ...)
{
	char text[480];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	diag_error(diag, "%s: %s", origin, text);
	return error_set(err, ERROR_USAGE, "", "%s: %s", origin, text);
}

static int find_field(
	const char *name, const char *origin, struct diag *diag, enum policy_field_id *ret_id, struct error *err)
{
	enum policy_field_id id = policy_field_find(name);
	const char *nearest = policy_field_nearest_name(name);
	char shown[80];

	if (id != _FIELD_COUNT) {
		*ret_id = id;
		return 0;
	}
	(void)str_printable(name, shown, sizeof shown);
	if (nearest != NULL)
		(void)refuse(origin, diag, err, "%s: unknown field; did you mean \"%s\"?", shown, nearest);
	else
		(void)refuse(origin, diag, err, "%s: unknown field", shown);
	return -1;
}

/* Reads one value and puts it. */
static int set_one(struct policy_document *document, enum policy_field_id id, const char *value, const char *origin,
	struct diag *diag, struct error *err)
{
	const struct policy_field *field = &policy_fields[id];
	struct policy_reading reading = {.arena = document->settings.arena};
	struct policy_item item = {};

	if (!policy_value_from_text(&reading, field, value, &item))
		return refuse(origin, diag, err, "%s: %s", field->name, reading.why);
	item.origin.label = arena_strdup(document->settings.arena, origin);
	if (arena_check(document->settings.arena, err) < 0)
		return -1;
	if (!policy_settings_put(&document->settings, id, &item))
		return refuse(origin, diag, err, "%s: too many entries", field->name);
	return arena_check(document->settings.arena, err);
}

/* Features are named by the comma, as `--require a,b`. */
static int set_requirements(
	struct policy_document *document, const char *value, const char *origin, struct diag *diag, struct error *err)
{
	for (;;) {
		size_t size = strcspn(value, ",");
		cleanup_free char *one = strndup(value, size);

		if (one == NULL)
			return error_no_memory(err);
		if (set_one(document, FIELD_REQUIRE, one, origin, diag, err) < 0)
			return -1;
		if (value[size] == '\0')
			return 0;
		value += size + 1;
	}
}

int policy_document_set(struct policy_document *document, const char *field, const char *value, const char *origin,
	struct diag *diag, struct error *err)
{
	enum policy_field_id id;

	if (find_field(field, origin, diag, &id, err) < 0)
		return -1;
	forget_resolved(document);
	if (id == FIELD_REQUIRE)
		return set_requirements(document, value, origin, diag, err);
	return set_one(document, id, value, origin, diag, err);
}

int policy_document_clear(
	struct policy_document *document, const char *field, const char *origin, struct diag *diag, struct error *err)
{
	enum policy_field_id id;

	if (find_field(field, origin, diag, &id, err) < 0)
		return -1;
	if (policy_fields[id].kept)
		return refuse(origin, diag, err, "%s: can be added to, never shortened", field);
	if (!policy_kind_is_list(policy_fields[id].kind))
		return refuse(origin, diag, err, "%s: not a list", field);
	forget_resolved(document);
	policy_settings_clear(&document->settings, id);
	return 0;
}

static int resolve_anew(struct policy_document *document, struct diag *diag, struct error *err)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;

	if (arena_check(document->settings.arena, err) < 0 || arena_new(&arena, err) < 0 ||
		policy_resolve(&document->settings, document->name, arena, &document->policy, diag, err) < 0)
		return -1;
	document->resolved = steal_ptr(&arena);
	return 0;
}

/* Where nothing has changed the policy is the one handed out before, which others may still hold. */
int policy_document_resolve(
	struct policy_document *document, const struct policy **ret_policy, struct diag *diag, struct error *err)
{
	if (document->policy == NULL) {
		if (resolve_anew(document, diag, err) < 0)
			return -1;
	} else {
		for (size_t i = 0; i < document->policy->n_warnings; i++)
			diag_warning(diag, "%s", document->policy->warnings[i]);
	}
	*ret_policy = document->policy;
	return 0;
}

int policy_document_own(
	struct policy_document *document, struct arena *arena, struct policy_own *ret_own, struct error *err)
{
	return policy_settings_own(&document->settings, arena, ret_own, err);
}

static int take_policy(struct policy_document *document, const struct policy **ret_policy, struct error *err)
{
	cleanup_diag struct diag diag = {};

	return policy_document_resolve(document, ret_policy, &diag, err);
}

int policy_document_json(struct policy_document *document, char **ret_json, struct error *err)
{
	const struct policy *policy = NULL;

	if (take_policy(document, &policy, err) < 0)
		return -1;
	return policy_report_json(&document->settings, policy, ret_json, err);
}

int policy_document_text(struct policy_document *document, char **ret_text, struct error *err)
{
	const struct policy *policy = NULL;

	if (take_policy(document, &policy, err) < 0)
		return -1;
	return policy_report_text(&document->settings, policy, ret_text, err);
}
