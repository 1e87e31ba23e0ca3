/*
 * Checks across fields.
 *
 * What contradicts itself is an error, what does nothing or everything is a warning. Paths are compared as they are
 * written; the plan, which knows the file tree, checks the same again on what they resolve to. Entries of the shipped
 * table of secrets are left out: to allow a path inside one of them by name is how a secret is handed out on purpose.
 *
 * Lists can hold tens of thousands of entries, so whatever is looked up in one is looked up in a sorted copy.
 */
#include "runtime/policy/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "runtime/policy/path_rule.h"
#include "runtime/policy/words.h"

/* Some items of a list, sorted by text. */
struct index {
	const struct policy_item **items;
	size_t n;
};

static void index_done(struct index *index)
{
	free(index->items);
}
#define cleanup_index __attribute__((cleanup(index_done)))

static int compare_items(const void *a, const void *b)
{
	const struct policy_item *const *left = a;
	const struct policy_item *const *right = b;

	return strcmp((*left)->text, (*right)->text);
}

static int index_new(const struct policy_setting *setting, bool (*wanted)(const struct policy_item *),
	struct index *ret, struct error *err)
{
	struct index index = {.items = calloc(setting->n + 1, sizeof(struct policy_item *))};

	if (index.items == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < setting->n; i++)
		if (wanted(&setting->items[i]))
			index.items[index.n++] = &setting->items[i];
	if (index.n > 1)
		qsort(index.items, index.n, sizeof(struct policy_item *), compare_items);
	*ret = index;
	return 0;
}

static const struct policy_item *index_find(const struct index *index, const char *text)
{
	const struct policy_item key = {.text = text};
	const struct policy_item *wanted = &key;
	const struct policy_item **found = NULL;

	if (index->n > 0)
		found = bsearch(&wanted, index->items, index->n, sizeof(struct policy_item *), compare_items);
	return found != NULL ? *found : NULL;
}

static printf_like(5, 6) void tell(
	struct diag *diag, bool warning, enum policy_field_id id, const struct policy_item *item, const char *fmt, ...)
{
	cleanup_buf struct buf place = {};
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	policy_origin_place(&item->origin, &place);
	if (place.failed)
		diag->failed = true;
	else if (warning)
		diag_warning(diag, "%s: %s: %s", buf_str(&place), policy_fields[id].name, text);
	else
		diag_error(diag, "%s: %s: %s", buf_str(&place), policy_fields[id].name, text);
}

static bool is_plain_deny(const struct policy_item *item)
{
	return !policy_path_has_parent_steps(item->text) && !policy_path_has_glob(item->text);
}

static bool is_any(const struct policy_item *item)
{
	(void)item;
	return true;
}

/* Cuts the last component off a tidy path: "/a/b" "/a" "/", "a/b" "a" ".", "~/a" "~/". False at the top. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL) {
		if (strcmp(path, ".") == 0)
			return false;
		path[0] = '.';
		path[1] = '\0';
		return true;
	}
	if (slash[1] == '\0')
		return false;
	slash[slash == path || (slash == path + 1 && path[0] == '~') ? 1 : 0] = '\0';
	return true;
}

/* On one path deny wins over read, and read over write: a write that loses has no effect, which nobody means. */
static void check_tie(const struct policy_item *write, const struct index *winners, const char *list, struct diag *diag)
{
	char shown[120];

	if (index_find(winners, write->text) != NULL)
		tell(diag, true, FIELD_WRITE, write, "\"%s\" is in %s too, which wins",
			str_printable(write->text, shown, sizeof shown), list);
}

static int check_inside_denied(
	const struct policy_item *write, const struct index *denied, struct diag *diag, struct error *err)
{
	cleanup_free char *above = strdup(write->text);
	cleanup_buf struct buf place = {};
	char shown[120];
	const struct policy_item *deny = NULL;

	if (above == NULL)
		return error_no_memory(err);
	while (deny == NULL && cut_last(above))
		deny = index_find(denied, above);
	if (deny == NULL)
		return 0;
	policy_origin_place(&deny->origin, &place);
	tell(diag, false, FIELD_WRITE, write, "\"%s\" lies inside the denied \"%s\" (%s)",
		str_printable(write->text, shown, sizeof shown), above, buf_str(&place));
	return buf_check(&place, err);
}

static int check_writes(const struct policy_settings *settings, struct diag *diag, struct error *err)
{
	const struct policy_setting *writes = &settings->fields[FIELD_WRITE];
	cleanup_index struct index denied = {};
	cleanup_index struct index readable = {};

	if (index_new(&settings->fields[FIELD_DENY], is_plain_deny, &denied, err) < 0 ||
		index_new(&settings->fields[FIELD_READ], is_any, &readable, err) < 0)
		return -1;
	for (size_t i = 0; i < writes->n; i++) {
		const struct policy_item *write = &writes->items[i];

		if (strcmp(write->text, "/") == 0)
			tell(diag, true, FIELD_WRITE, write,
				"\"/\" makes all writable that the command's user may write");
		check_tie(write, &denied, "deny", diag);
		check_tie(write, &readable, "read", diag);
		if (!policy_path_has_parent_steps(write->text) && check_inside_denied(write, &denied, diag, err) < 0)
			return -1;
	}
	return 0;
}

static void check_globs(const struct policy_settings *settings, enum policy_field_id id, struct diag *diag)
{
	const struct policy_setting *setting = &settings->fields[id];
	char shown[120];

	for (size_t i = 0; i < setting->n; i++)
		if (policy_path_has_glob(setting->items[i].text))
			tell(diag, true, id, &setting->items[i], "\"%s\" is taken literally: only deny knows patterns",
				str_printable(setting->items[i].text, shown, sizeof shown));
}

static int check_syscalls(const struct policy_settings *settings, struct diag *diag, struct error *err)
{
	const struct policy_setting *denied = &settings->fields[FIELD_SECCOMP_DENY];
	cleanup_index struct index allowed = {};

	if (index_new(&settings->fields[FIELD_SECCOMP_ALLOW], is_any, &allowed, err) < 0)
		return -1;
	for (size_t i = 0; i < denied->n; i++)
		if (index_find(&allowed, denied->items[i].text) != NULL)
			tell(diag, false, FIELD_SECCOMP_DENY, &denied->items[i], "\"%s\" is allowed too",
				denied->items[i].text);
	return 0;
}

/* A requirement that the same policy makes impossible is a mistake in it, not a lack of the machine. */
static void check_requirements(const struct policy_settings *settings, struct diag *diag)
{
	const struct policy_setting *require = &settings->fields[FIELD_REQUIRE];
	const struct policy_setting *strategy = &settings->fields[FIELD_MEMORY_STRATEGY];
	const char *named = strategy->n > 0 ? strategy->items[0].text : policy_memory_strategy_words[MEMORY_AUTO];

	if (strcmp(named, policy_memory_strategy_words[MEMORY_AUTO]) == 0)
		return;
	for (size_t i = 0; i < require->n; i++) {
		const struct policy_item *item = &require->items[i];

		if (strcmp(item->text, "limits.memory") == 0 && item->second != NULL && strcmp(item->second, named) != 0)
			tell(diag, false, FIELD_REQUIRE, item, "limits.memory=%s, but limits.memory_strategy is \"%s\"",
				item->second, named);
	}
}

int policy_check(const struct policy_settings *settings, struct diag *diag, struct error *err)
{
	check_globs(settings, FIELD_READ, diag);
	check_globs(settings, FIELD_WRITE, diag);
	check_globs(settings, FIELD_PROTECT, diag);
	check_requirements(settings, diag);
	if (check_writes(settings, diag, err) < 0 || check_syscalls(settings, diag, err) < 0)
		return -1;
	return 0;
}
