/*
 * Help is made of the tables that the parser uses: what is listed here is what is accepted. What cannot be a table,
 * examples above all, stands with each verb in main.c. With --json the same is told to programs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/options.h"

#define WIDTH  80
#define INDENT 10

static const char introduction[] =
	"pinfold runs a command that nobody has to trust inside an operating-system boundary, with\n"
	"limits that are really enforced, and says truthfully which were.\n"
	"\n";

static const char farther[] =
	"\n"
	"examples:\n"
	"  pinfold run -- ls -l\n"
	"      list the current directory: files can be read, none written, no network, one minute\n"
	"  pinfold run -p :workspace-write --memory 2G --timeout 10m -- make test\n"
	"      build and test here; only this directory is writable, except what would make git run code\n"
	"  pinfold check -p :eval --json\n"
	"      what this machine would enforce of a policy, and by which mechanism\n"
	"\n"
	"exit status of run: the command's own; 128+n if signal n killed it; 124 time limit; 137 memory limit;\n"
	"2 unusable command line; 125 pinfold itself failed; 126 not executable; 127 not found.\n"
	"Other verbs: 0 done, 1 a negative answer, 2 usage, 125 failure.\n"
	"\n"
	"Read on: pinfold help run, pinfold policy list, pinfold policy show :read-only, man pinfold\n";

/* Breaks text at spaces into lines that are indented by INDENT and no wider than WIDTH. */
static void append_wrapped(struct buf *out, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t length = strcspn(text, " ");

		if (column != 0 && column + 1 + length > WIDTH) {
			buf_append_char(out, '\n');
			column = 0;
		}
		if (column == 0)
			buf_printf(out, "%*s", INDENT, "");
		else
			buf_append_char(out, ' ');
		buf_append(out, text, length);
		column = (column == 0 ? INDENT : column + 1) + length;
		text += length + strspn(text + length, " ");
	}
	buf_append_char(out, '\n');
}

static void append_option(struct buf *out, const struct option_row *row)
{
	bool is_long = str_starts_with(row->name, "--");

	buf_append_str(out, "  ");
	if (is_long && row->letter != 0)
		buf_printf(out, "-%c, ", row->letter);
	buf_append_str(out, row->name);
	if (row->argument != NULL)
		buf_printf(out, " %s", row->argument);
	buf_append_char(out, '\n');
	append_wrapped(out, row->help);
}

static void append_group(struct buf *out, const struct verb *verb, enum option_group group)
{
	bool first = true;

	for (const struct option_row *row = cli_options(); row->name != NULL; row++) {
		if (row->group != group || (row->sets & verb->options) == 0)
			continue;
		if (first)
			buf_printf(out, "\n%s:\n", cli_option_group_title(group));
		first = false;
		append_option(out, row);
	}
}

static void append_synopsis(struct buf *out, const struct verb *verb)
{
	const char *lead = "usage: ";

	for (const char *line = verb->synopsis; *line != '\0';) {
		size_t length = strcspn(line, "\n");

		buf_printf(out, "%spinfold %.*s\n", lead, (int)length, line);
		line += length + (line[length] == '\n');
		lead = "       ";
	}
}

static void append_verb(struct buf *out, const struct verb *verb)
{
	append_synopsis(out, verb);
	buf_printf(out, "\n%s.\n", verb->summary);
	for (int group = 0; group < _GROUP_COUNT; group++)
		append_group(out, verb, (enum option_group)group);
	if (verb->text[0] != '\0')
		buf_printf(out, "\n%s", verb->text);
}

static void append_program(struct buf *out)
{
	buf_append_str(out, introduction);
	buf_append_str(out, "usage: pinfold VERB [options] ...\n\n");
	for (const struct verb *verb = cli_verbs(); verb->name != NULL; verb++)
		buf_printf(out, "  %-11s %s\n", verb->name, verb->summary);
	buf_append_str(out, farther);
}

static json_t *option_json(const struct option_row *row)
{
	char letter[2] = {row->letter, '\0'};

	return json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s}", "name", row->name, "letter",
		row->letter != 0 ? letter : NULL, "argument", row->argument, "policy_field", row->field, "group",
		cli_option_group_title(row->group), "help", row->help);
}

static json_t *verb_json(const struct verb *verb)
{
	cleanup_json json_t *options = json_array();

	for (const struct option_row *row = cli_options(); row->name != NULL; row++)
		if ((row->sets & verb->options) != 0 && json_array_append_new(options, option_json(row)) < 0)
			return NULL;
	return json_pack("{s:s, s:s, s:s, s:O}", "name", verb->name, "synopsis", verb->synopsis, "summary",
		verb->summary, "options", options);
}

static int show_json(const struct settings *settings, const struct verb *only)
{
	cleanup_json json_t *verbs = json_array();

	for (const struct verb *verb = cli_verbs(); verb->name != NULL; verb++)
		if ((only == NULL || only == verb) && json_array_append_new(verbs, verb_json(verb)) < 0)
			return cli_print_document(settings, NULL);
	return cli_print_json_take(settings, json_pack("{s:s, s:O}", "schema", "pinfold.help/1", "verbs", verbs));
}

int cli_help_show(const struct settings *settings, const struct verb *verb)
{
	cleanup_buf struct buf out = {0};

	if (settings->json)
		return show_json(settings, verb);
	if (verb != NULL)
		append_verb(&out, verb);
	else
		append_program(&out);
	return cli_print_buf(settings, &out);
}

int cli_help(const struct settings *settings)
{
	const struct verb *verb = NULL;
	const char *nearest;
	char shown[96];

	if (settings->n_words == 0)
		return cli_help_show(settings, NULL);
	verb = cli_verb_find(settings->words[0]);
	if (verb != NULL)
		return cli_help_show(settings, verb);
	nearest = cli_verb_nearest(settings->words[0]);
	str_printable(settings->words[0], shown, sizeof shown);
	if (nearest != NULL)
		return cli_usage(settings, "unknown verb \"%s\"; did you mean \"%s\"?", shown, nearest);
	return cli_usage(settings, "unknown verb \"%s\"", shown);
}

int cli_version(const struct settings *settings)
{
	cleanup_buf struct buf out = {0};

	if (settings->json)
		return cli_print_json_take(
			settings, json_pack("{s:s, s:s}", "schema", "pinfold.version/1", "version", pinfold_version()));
	buf_printf(&out, "pinfold %s\n", pinfold_version());
	return cli_print_buf(settings, &out);
}
