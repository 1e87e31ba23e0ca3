/*
 * Says on stderr which rows of the report are not enforced. A limit that nobody asked for is not worth a line, a
 * feature that is off is: it is part of the boundary that people expect.
 */
#include "runtime/cli/notes.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "runtime/cli/console.h"

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static bool worth_telling(const char *state, bool limit)
{
	return state != NULL && !str_equal(state, "enforced") && !(limit && str_equal(state, "off"));
}

static void tell_row(const json_t *row, bool limit)
{
	const char *name = text_of(row, "name"), *state = text_of(row, "state");
	const char *mechanism = text_of(row, "mechanism");
	const char *reason = text_of(row, "reason"), *fix = text_of(row, "fix");

	if (name == NULL || !worth_telling(state, limit))
		return;
	cli_say("note: %s%s is %s%s%s%s%s%s%s%s", limit ? "limits." : "", name, state, mechanism != NULL ? " (" : "",
		mechanism != NULL ? mechanism : "", mechanism != NULL ? ")" : "", reason != NULL ? ": " : "",
		reason != NULL ? reason : "", fix != NULL ? "; " : "", fix != NULL ? fix : "");
}

int cli_notes_tell(pinfold_report *report, struct error *err)
{
	const char *json = pinfold_report_json(report);
	cleanup_json json_t *document = json != NULL ? json_loads(json, 0, NULL) : NULL;
	json_t *entry;
	size_t i;

	if (document == NULL)
		return error_set(err, ERROR_INTERNAL, "report", "the report cannot be read");
	json_array_foreach(json_object_get(document, "features"), i, entry) tell_row(entry, false);
	json_array_foreach(json_object_get(document, "limits"), i, entry) tell_row(entry, true);
	json_array_foreach(json_object_get(document, "warnings"), i, entry)
		cli_say("note: %s", json_string_value(entry) != NULL ? json_string_value(entry) : "");
	return 0;
}
