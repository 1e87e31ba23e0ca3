/*
 * Walks the words behind a verb against the option table.
 *
 * For a verb that takes a command, options end at the first word that is none, or at "--": everything from there on
 * belongs to the command and is passed on byte by byte. Other verbs take options anywhere among their words. Long
 * options are never abbreviated: a script written today must not change its meaning when an option is added.
 */
#include <string.h>

#include "base/str.h"
#include "runtime/cli/options.h"

#define OPTIONS_MAX 64

static bool takes(const struct settings *settings, const struct option_row *row)
{
	return (row->sets & settings->verb->options) != 0;
}

static const struct option_row *find_long(const struct settings *settings, const char *name, size_t length)
{
	for (const struct option_row *row = cli_options(); row->name != NULL; row++)
		if (takes(settings, row) && strlen(row->name) == length && strncmp(row->name, name, length) == 0)
			return row;
	return NULL;
}

static const struct option_row *find_letter(const struct settings *settings, char letter)
{
	for (const struct option_row *row = cli_options(); row->name != NULL; row++)
		if (takes(settings, row) && row->letter == letter)
			return row;
	return NULL;
}

static const char *nearest_long(const struct settings *settings, const char *name)
{
	const char *names[OPTIONS_MAX + 1] = {NULL};
	size_t n = 0;

	for (const struct option_row *row = cli_options(); row->name != NULL && n < OPTIONS_MAX; row++)
		if (takes(settings, row) && str_starts_with(row->name, "--"))
			names[n++] = row->name;
	return str_nearest(name, names);
}

/* word: as it was written, for an option that this verb does not have. */
static int unknown_option(const struct settings *settings, const char *word, size_t length, struct error *err)
{
	char name[64], shown[96];
	const char *nearest;

	if (length >= sizeof name)
		length = sizeof name - 1;
	memcpy(name, word, length);
	name[length] = '\0';
	nearest = nearest_long(settings, name);
	str_printable(name, shown, sizeof shown);
	if (nearest != NULL)
		return error_set(
			err, ERROR_USAGE, "options", "unknown option \"%s\"; did you mean \"%s\"?", shown, nearest);
	error_set(err, ERROR_USAGE, "options", "unknown option \"%s\"", shown);
	error_set_fix(err, "see \"pinfold help %s\"", settings->verb->name);
	return -1;
}

static int apply_option(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	char *member = (char *)settings + row->offset;

	switch (row->kind) {
	case OPTION_FIELD: return cli_settings_override(settings, row->field, value, row->name, err);
	case OPTION_FIXED: return cli_settings_override(settings, row->field, row->value, row->name, err);
	case OPTION_FLAG: *(bool *)(void *)member = true; return 0;
	case OPTION_TEXT:
		if (value == NULL || *value == '\0')
			return error_set(err, ERROR_USAGE, "options", "%s: the argument is empty", row->name);
		*(const char **)(void *)member = value;
		return 0;
	case OPTION_CALL: return row->call(settings, row, value, err);
	}
	return error_set(err, ERROR_INTERNAL, "options", "%s: a row of no kind", row->name);
}

/* inline_value: what stood in the same word, or NULL; then the next word is taken, and *words moves on. */
static int take_option(struct settings *settings, const struct option_row *row, const char *inline_value, char ***words,
	struct error *err)
{
	const char *value = inline_value;

	if (row->argument == NULL && value != NULL)
		return error_set(err, ERROR_USAGE, "options", "%s takes no argument", row->name);
	if (row->argument != NULL && value == NULL) {
		value = **words;
		if (value == NULL)
			return error_set(err, ERROR_USAGE, "options", "%s needs an argument: %s %s", row->name,
				row->name, row->argument);
		(*words)++;
	}
	return apply_option(settings, row, value, err);
}

static int take_long(struct settings *settings, const char *word, char ***words, struct error *err)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = find_long(settings, word, length);

	if (row == NULL)
		return unknown_option(settings, word, length, err);
	return take_option(settings, row, word[length] == '=' ? word + length + 1 : NULL, words, err);
}

/* "-vq" is two options; "-w/dir" one with its argument. */
static int take_letters(struct settings *settings, const char *word, char ***words, struct error *err)
{
	for (const char *at = word + 1; *at != '\0'; at++) {
		const struct option_row *row = find_letter(settings, *at);

		if (row == NULL)
			return unknown_option(settings, word, strlen(word), err);
		if (row->argument != NULL)
			return take_option(settings, row, at[1] != '\0' ? at + 1 : NULL, words, err);
		if (take_option(settings, row, NULL, words, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* The words that are no options are moved to the front of the array, in their order. */
static int take_words(struct settings *settings, char **words, struct error *err)
{
	char **kept = words;

	settings->words = words;
	while (*words != NULL) {
		char *word = *words++;

		if (str_equal(word, "--") || (settings->verb->takes_command && !is_option(word))) {
			words -= !str_equal(word, "--");
			break;
		}
		if (!is_option(word))
			*kept++ = word;
		else if ((word[1] == '-' ? take_long : take_letters)(settings, word, &words, err) < 0)
			return -1;
	}
	while (*words != NULL)
		*kept++ = *words++;
	*kept = NULL;
	settings->n_words = (size_t)(kept - settings->words);
	return 0;
}

/* On a mistake the rest is not understood; whether JSON was wished is still answered, for a program is waiting for it. */
static bool wishes_json(char **words)
{
	for (; *words != NULL && !str_equal(*words, "--"); words++)
		if (str_equal(*words, "--json"))
			return true;
	return false;
}

int cli_options_parse(struct settings *settings, char **words, struct error *err)
{
	bool json = wishes_json(words);

	if (take_words(settings, words, err) < 0) {
		settings->json = json;
		return -1;
	}
	if (settings->help)
		return 0;
	if (cli_settings_check(settings, err) < 0)
		return -1;
	if (!settings->verb->takes_command && settings->n_words > settings->verb->words_max) {
		char shown[96];

		error_set(err, ERROR_USAGE, "options", "unexpected word \"%s\"",
			str_printable(settings->words[settings->verb->words_max], shown, sizeof shown));
		error_set_fix(err, "see \"pinfold help %s\"", settings->verb->name);
		return -1;
	}
	return 0;
}
