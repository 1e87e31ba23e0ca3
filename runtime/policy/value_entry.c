/*
 * List entries from their text form: paths, variables, mounts, system calls, requirements.
 *
 * A value of the environment is never repeated in a message: it may be a secret.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "runtime/policy/path_rule.h"
#include "runtime/policy/value.h"
#include "runtime/policy/value_take.h"
#include "runtime/policy/vocabulary.h"

#define SYSCALL_NAME_MAX 64

static bool keep(struct policy_reading *reading, const char *text, struct policy_item *item)
{
	item->text = arena_strdup(reading->arena, text);
	return true;
}

bool policy_take_path(struct policy_reading *reading, const char *path, enum policy_path_use use, const char **ret_path)
{
	const char *fault = policy_path_fault(path, use);
	char shown[100];

	if (fault == NULL) {
		*ret_path = policy_path_tidy(reading->arena, path);
		return true;
	}
	if (path[0] == '\0')
		return policy_reading_refuse(reading, "%s", fault);
	return policy_reading_refuse(reading, "\"%s\": %s", str_printable(path, shown, sizeof shown), fault);
}

bool policy_take_paths(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	static const enum policy_path_use uses[_ACCESS_COUNT] = {
		[ACCESS_READ] = PATH_READ,
		[ACCESS_WRITE] = PATH_WRITE,
		[ACCESS_DENY] = PATH_DENY,
		[ACCESS_PROTECT] = PATH_PROTECT,
	};

	return policy_take_path(reading, text, uses[field->access], &item->text);
}

bool policy_take_pattern(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	(void)field;
	if (text[0] == '\0' || strchr(text, '=') != NULL)
		return policy_reading_refuse(reading, "the name of a variable is not empty and has no '='");
	return keep(reading, text, item);
}

bool policy_take_syscall(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	size_t size = strlen(text);
	char shown[80];

	(void)field;
	if (size == 0 || size > SYSCALL_NAME_MAX || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != size)
		return policy_reading_refuse(
			reading, "\"%s\" is not the name of a system call", str_printable(text, shown, sizeof shown));
	return keep(reading, text, item);
}

static bool refuse_feature(struct policy_reading *reading, const char *feature)
{
	char shown[80];
	char limit[96];
	const char *nearest = str_nearest(feature, policy_feature_names);

	(void)str_printable(feature, shown, sizeof shown);
	(void)snprintf(limit, sizeof limit, "limits.%s", shown);
	if (policy_feature_mechanisms(limit) != NULL)
		nearest = limit;
	if (nearest != NULL)
		return policy_reading_refuse(reading, "unknown feature \"%s\"; did you mean \"%s\"?", shown, nearest);
	return policy_reading_refuse(reading, "unknown feature \"%s\"; `pinfold check` lists them", shown);
}

bool policy_take_requirement(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	size_t size = strcspn(text, "=");
	const char *feature = arena_strndup(reading->arena, text, size);
	const char *const *mechanisms;
	char what[64];

	(void)field;
	if (feature == NULL)
		return policy_reading_refuse(reading, "out of memory");
	mechanisms = policy_feature_mechanisms(feature);
	if (mechanisms == NULL)
		return refuse_feature(reading, feature);
	*item = (struct policy_item){.text = feature};
	if (text[size] == '\0')
		return true;
	if (policy_word_index(mechanisms, text + size + 1) < 0) {
		(void)snprintf(what, sizeof what, "a mechanism of %s", feature);
		return policy_reading_refuse_word(reading, text + size + 1, what, mechanisms);
	}
	item->second = arena_strdup(reading->arena, text + size + 1);
	return true;
}

bool policy_value_bind(struct policy_reading *reading, const char *source, const char *target, bool write,
	struct policy_item *ret_item)
{
	*ret_item = (struct policy_item){.flag = write};
	return policy_take_path(reading, source, PATH_BIND_SOURCE, &ret_item->second) &&
		policy_take_path(reading, target, PATH_BIND_TARGET, &ret_item->text);
}

/* "SOURCE:TARGET", then ":ro" (which it is anyway) or ":rw". */
bool policy_take_bind(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	const char *colon = strchr(text, ':');
	const char *mode = colon != NULL ? strchr(colon + 1, ':') : NULL;
	char *source;
	char *target;

	(void)field;
	if (colon == NULL || (mode != NULL && strcmp(mode, ":ro") != 0 && strcmp(mode, ":rw") != 0))
		return policy_reading_refuse(reading, "expected SOURCE:TARGET or SOURCE:TARGET:rw");
	source = arena_strndup(reading->arena, text, (size_t)(colon - text));
	target = arena_strndup(reading->arena, colon + 1, mode != NULL ? (size_t)(mode - colon - 1) : strlen(colon + 1));
	if (source == NULL || target == NULL)
		return policy_reading_refuse(reading, "out of memory");
	return policy_value_bind(reading, source, target, mode != NULL && mode[2] == 'w', item);
}

bool policy_value_tmpfs(
	struct policy_reading *reading, const char *path, uint64_t size_bytes, struct policy_item *ret_item)
{
	*ret_item = (struct policy_item){.number = size_bytes};
	return policy_take_path(reading, path, PATH_TMPFS, &ret_item->text);
}

/* "PATH[:SIZE]": what follows the last colon is a size, so that a mistyped one cannot become part of the path. */
bool policy_take_tmpfs(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	const char *colon = strrchr(text, ':');
	struct policy_item size = {.number = LIMIT_NONE};
	char *path;

	if (colon == NULL)
		return policy_value_tmpfs(reading, text, LIMIT_NONE, item);
	if (!policy_take_size(reading, field, colon + 1, &size))
		return false;
	path = arena_strndup(reading->arena, text, (size_t)(colon - text));
	if (path == NULL)
		return policy_reading_refuse(reading, "out of memory");
	return policy_value_tmpfs(reading, path, size.number, item);
}

bool policy_value_variable(
	struct policy_reading *reading, const char *name, const char *value, struct policy_item *ret_item)
{
	char shown[80];

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return policy_reading_refuse(reading, "the name of a variable is not empty and has no '='");
	if (strlen(name) + 1 + strlen(value) >= (size_t)POLICY_VARIABLE_MAX)
		return policy_reading_refuse(
			reading, "%s is longer than the kernel takes", str_printable(name, shown, sizeof shown));
	*ret_item = (struct policy_item){
		.text = arena_strdup(reading->arena, name), .second = arena_strdup(reading->arena, value)};
	return true;
}

bool policy_take_variable(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	const char *equals = strchr(text, '=');
	char *name;

	(void)field;
	if (equals == NULL)
		return policy_reading_refuse(reading, "expected NAME=VALUE");
	name = arena_strndup(reading->arena, text, (size_t)(equals - text));
	if (name == NULL)
		return policy_reading_refuse(reading, "out of memory");
	return policy_value_variable(reading, name, equals + 1, item);
}
