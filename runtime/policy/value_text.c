/*
 * Values from the text form of flags, which is also that of strings in a policy: one small parser a kind, in a table.
 *
 * What is wrong is said without the place and the field, which the caller knows. A value of the environment is never
 * repeated in a message: it may be a secret.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/policy/path_rule.h"
#include "runtime/policy/value.h"
#include "runtime/policy/value_take.h"
#include "runtime/policy/words.h"

#define LABEL_MAX 63 /* of RFC 1123 */

typedef bool (*text_fn)(struct policy_reading *, const struct policy_field *, const char *text, struct policy_item *item);

/* The text is copied: flags and JSON trees do not live as long as the document. */
static bool keep(struct policy_reading *reading, const char *text, struct policy_item *item)
{
	item->text = arena_strdup(reading->arena, text);
	return true;
}

/* The index in words, or -1. */
int policy_word_index(const char *const *words, const char *text)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return -1;
}

bool policy_reading_refuse(struct policy_reading *reading, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(reading->why, sizeof reading->why, fmt, args);
	va_end(args);
	return false;
}

bool policy_reading_refuse_word(
	struct policy_reading *reading, const char *word, const char *what, const char *const *words)
{
	char shown[80];
	char list[160] = "";
	const char *nearest = str_nearest(word, words);

	(void)str_printable(word, shown, sizeof shown);
	if (nearest != NULL)
		return policy_reading_refuse(reading, "\"%s\" is not %s; did you mean \"%s\"?", shown, what, nearest);
	for (size_t i = 0, at = 0; words[i] != NULL && at < sizeof list; i++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : ", ", words[i]);
	return policy_reading_refuse(reading, "\"%s\" is not %s; there are: %s", shown, what, list);
}

static bool take_word(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	int index = policy_word_index(field->words, text);

	if (index < 0)
		return policy_reading_refuse_word(reading, text, "known here", field->words);
	*item = (struct policy_item){.text = field->words[index], .number = (uint64_t)index};
	return true;
}

static bool take_bool(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	int index = policy_word_index(policy_bool_words, text);

	(void)field;
	if (index < 0)
		return policy_reading_refuse_word(reading, text, "true or false", policy_bool_words);
	*item = (struct policy_item){.number = (uint64_t)index};
	return true;
}

static bool take_root(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	int index = policy_word_index(policy_root_words, text);

	(void)field;
	*item = (struct policy_item){.number = (uint64_t)index};
	if (index >= 0)
		return true;
	if (text[0] != '/')
		return policy_reading_refuse_word(reading, text, "a root or an absolute path", policy_root_words);
	item->number = ROOT_DIRECTORY;
	if (!policy_take_path(reading, text, PATH_READ, &item->text))
		return false;
	if (item->text != NULL && strcmp(item->text, "/") == 0)
		return policy_reading_refuse(reading, "\"/\" is the host's own root; write \"host\"");
	return true;
}

static bool is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool is_label(const char *s, size_t size)
{
	if (size == 0 || size > LABEL_MAX || s[0] == '-' || s[size - 1] == '-')
		return false;
	for (size_t i = 0; i < size; i++)
		if (!is_label_byte(s[i]))
			return false;
	return true;
}

static bool is_hostname(const char *name)
{
	if (strlen(name) > POLICY_HOSTNAME_MAX)
		return false;
	for (;;) {
		size_t size = strcspn(name, ".");

		if (!is_label(name, size))
			return false;
		if (name[size] == '\0')
			return true;
		name += size + 1;
	}
}

static bool take_hostname(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	char shown[80];

	(void)field;
	if (!is_hostname(text))
		return policy_reading_refuse(reading,
			"\"%s\" is not a host name: letters, digits and '-' between dots, at most %d",
			str_printable(text, shown, sizeof shown), POLICY_HOSTNAME_MAX);
	return keep(reading, text, item);
}

/* Absolute: a policy means the same file wherever it is used later. */
static bool keep_below(struct policy_reading *reading, const char *text, struct policy_item *item)
{
	const char *directory = reading->directory != NULL ? reading->directory : ".";
	char here[PATH_MAX] = "";

	if (directory[0] != '/' && getcwd(here, sizeof here) == NULL)
		return policy_reading_refuse(
			reading, "the current directory, which \"%.100s\" is relative to, is not known", text);
	if (strcmp(directory, ".") == 0)
		item->text = arena_printf(reading->arena, "%s/%s", here, text);
	else
		item->text = arena_printf(reading->arena, "%s%s%s/%s", here, here[0] != '\0' ? "/" : "", directory, text);
	return true;
}

static bool take_profile(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	(void)field;
	if (text[0] == '\0')
		return policy_reading_refuse(reading, "an empty name");
	if (text[0] == ':' && policy_word_index(policy_seccomp_profile_words, text) < 0)
		return policy_reading_refuse_word(reading, text, "a built-in profile", policy_seccomp_profile_words);
	if (strlen(text) >= PATH_MAX)
		return policy_reading_refuse(reading, "longer than a path can be");
	if (text[0] == ':' || text[0] == '/')
		return keep(reading, text, item);
	return keep_below(reading, text, item);
}

void policy_errno_names(const char *names[POLICY_ERRNO_MAX + 1])
{
	for (int i = 0; i < POLICY_ERRNO_MAX; i++)
		names[i] = error_errno_name(i + 1);
	names[POLICY_ERRNO_MAX] = NULL;
}

static bool take_errno(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	const char *names[POLICY_ERRNO_MAX + 1];
	int found;

	(void)field;
	policy_errno_names(names);
	found = text[0] == 'E' && text[1] != '?' ? policy_word_index(names, text) : -1;
	if (found < 0) {
		char shown[80];
		const char *nearest = str_nearest(text, names);

		return policy_reading_refuse(reading, "\"%s\" is not the name of an error; did you mean \"%s\"?",
			str_printable(text, shown, sizeof shown), nearest != NULL ? nearest : "EPERM");
	}
	*item = (struct policy_item){.text = names[found], .number = (uint64_t)found + 1};
	return true;
}

static const text_fn takers[_KIND_COUNT] = {
	[KIND_WORD] = take_word,
	[KIND_BOOL] = take_bool,
	[KIND_ROOT] = take_root,
	[KIND_TIME] = policy_take_time,
	[KIND_SIZE] = policy_take_size,
	[KIND_COUNT] = policy_take_count,
	[KIND_MILLI] = policy_take_milli,
	[KIND_HOSTNAME] = take_hostname,
	[KIND_PROFILE] = take_profile,
	[KIND_ERRNO] = take_errno,
	[KIND_PATHS] = policy_take_paths,
	[KIND_PATTERNS] = policy_take_pattern,
	[KIND_SYSCALLS] = policy_take_syscall,
	[KIND_REQUIREMENTS] = policy_take_requirement,
	[KIND_BINDS] = policy_take_bind,
	[KIND_TMPFS] = policy_take_tmpfs,
	[KIND_VARIABLES] = policy_take_variable,
};

bool policy_value_from_text(struct policy_reading *reading, const struct policy_field *field, const char *text,
	struct policy_item *ret_item)
{
	struct policy_item item = {};

	if (field->nullable && !policy_kind_is_list(field->kind) && strcmp(text, "none") == 0)
		item.number = LIMIT_NONE;
	else if (!takers[field->kind](reading, field, text, &item) || !policy_value_in_range(reading, field, item.number))
		return false;
	*ret_item = item;
	return true;
}
