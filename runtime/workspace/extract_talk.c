/*
 * Threat: the helper may have been taken over by the archive. Its lines are bounded in length and number, are JSON or
 * nothing, and what they say is text to be shown and numbers to be compared, never a reason to do something that would
 * not be done otherwise: what was extracted is counted again by extract_check.
 */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/workspace/archive/protocol.h"
#include "runtime/workspace/extract_parts.h"

static int odd(struct error *err, const char *what)
{
	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, ARCHIVE_PROGRAM,
		"the archive's reader says what it never "
		"should (%s)",
		what);
}

static bool read_number(const json_t *object, const char *key, uint64_t *ret_number)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret_number = (uint64_t)json_integer_value(value);
	return true;
}

static int hear_introduction(struct talk *talk, const json_t *line, struct error *err)
{
	const char *version = json_string_value(json_object_get(line, ARCHIVE_PROGRAM));

	if (version == NULL)
		return odd(err, "no introduction");
	if (!str_equal(version, PINFOLD_VERSION)) {
		char shown[40];

		return error_set(err, ERROR_UNENFORCEABLE, ARCHIVE_PROGRAM,
			ARCHIVE_PROGRAM " is of version %s, and this is " PINFOLD_VERSION,
			str_printable(version, shown, sizeof shown));
	}
	talk->introduced = true;
	return 0;
}

static int hear_progress(struct talk *talk, const json_t *line, struct error *err)
{
	struct work *work = talk->options->work;
	uint64_t members, bytes, new_members, new_bytes;

	if (!read_number(line, "progress", &members) || !read_number(line, "bytes", &bytes) ||
		members < talk->told_members || bytes < talk->told_bytes || members > talk->options->members_max ||
		bytes > talk->options->extracted_max)
		return odd(err, "progress");
	new_members = members - talk->told_members;
	new_bytes = bytes - talk->told_bytes;
	talk->told_members = members;
	talk->told_bytes = bytes;
	return work != NULL ? work_count(work, new_members, new_bytes, "the archive", err) : 0;
}

static enum error_code code_of(const char *word)
{
	static const enum error_code known[] = {ERROR_LIMIT, ERROR_WORKSPACE_ARCHIVE_WRITE,
		ERROR_INVALID_COMPRESSION_SCHEME, ERROR_UNSUPPORTED, ERROR_IO, ERROR_NO_MEMORY};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (str_equal(word, error_code_name(known[i])))
			return known[i];
	return ERROR_WORKSPACE_ARCHIVE_WRITE;
}

static void take_context(struct error *error, json_t *context)
{
	static const char *const keys[] = {"member", "limit", "most", "actual"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *value = json_string_value(json_object_get(context, keys[i]));

		if (value != NULL)
			error_add_context(error, keys[i], value);
	}
}

static int hear_error(struct talk *talk, json_t *said, struct error *err)
{
	const char *text = json_string_value(json_object_get(said, "text"));
	enum error_code code = code_of(json_string_value(json_object_get(said, "code")));
	uint64_t number = 0;

	if (text == NULL || !read_number(said, "errno", &number) || number > 4095)
		return odd(err, "error");
	(void)error_set_errno(&talk->error, code, (int)number, "archive", "%s", text);
	take_context(&talk->error, json_object_get(said, "context"));
	talk->failed = true;
	return 0;
}

static int hear_done(struct talk *talk, const json_t *said, struct error *err)
{
	struct extract_totals *totals = &talk->totals;
	const char *format = json_string_value(json_object_get(said, "format"));
	const char *compression = json_string_value(json_object_get(said, "compression"));

	if (format == NULL || compression == NULL || !read_number(said, "members", &totals->members) ||
		!read_number(said, "files", &totals->files) || !read_number(said, "directories", &totals->directories) ||
		!read_number(said, "links", &totals->links) || !read_number(said, "bytes", &totals->bytes) ||
		!read_number(said, "skipped", &totals->skipped))
		return odd(err, "done");
	if (totals->members > talk->options->members_max || totals->members < talk->told_members ||
		totals->bytes < talk->told_bytes)
		return odd(err, "totals");
	(void)str_printable(format, totals->format, sizeof totals->format);
	(void)str_printable(compression, totals->compression, sizeof totals->compression);
	talk->done = true;
	return 0;
}

static int hear_line(struct talk *talk, struct error *err)
{
	cleanup_json json_t *line = json_loadb(talk->line, talk->n_line, JSON_REJECT_DUPLICATES, NULL);
	json_t *said;

	if (++talk->n_lines > ARCHIVE_LINES_MAX || !json_is_object(line))
		return odd(err, "no JSON");
	if (talk->done || talk->failed)
		return odd(err, "something behind its end");
	if (!talk->introduced)
		return hear_introduction(talk, line, err);
	if ((said = json_object_get(line, "error")) != NULL)
		return hear_error(talk, said, err);
	if ((said = json_object_get(line, "done")) != NULL)
		return hear_done(talk, said, err);
	return hear_progress(talk, line, err);
}

int talk_hear(void *context, int stream, const void *data, size_t size, struct error *err)
{
	struct talk *talk = context;
	const char *at = data;

	if (stream != 1)
		return 0;
	for (; size > 0; at++, size--) {
		if (*at == '\n') {
			if (hear_line(talk, err) < 0)
				return -1;
			talk->n_line = 0;
		} else if (talk->n_line < sizeof talk->line) {
			talk->line[talk->n_line++] = *at;
		} else {
			return odd(err, "a long line");
		}
	}
	return 0;
}
