/*
 * What each kind of value may be, in the words of JSON Schema. The bounds, the words and the names of members are those of
 * the tables that the parser goes by; only the form of texts is said again here, as regular expressions.
 *
 * A schema cannot compute: the bounds of a time or a size that is written as text, with its unit, are left to the parser,
 * and so are "..", lengths in bytes, and what concerns two fields. Whatever a schema refuses the parser refuses.
 */
#include "runtime/policy/schema_kind.h"

#include <limits.h>

#include "base/json.h"
#include "base/monotime.h"
#include "runtime/policy/settings.h"
#include "runtime/policy/value_take.h"
#include "runtime/policy/words.h"

#define DECIMAL "[0-9]+([.][0-9]{1,18})?"
#define TIME    DECIMAL "(ms|s|m|h)?"
#define SIZE    "[0-9]+[Bb]?|" DECIMAL "[KMGTkmgt][Ii]?[Bb]?"
#define ZERO    "^[0.]+[A-Za-z]*$" /* of those, what means nothing at all */

#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST  "^" LABEL "([.]" LABEL ")*$"

#define PATH_LENGTH_MAX (PATH_MAX - 1)

/* Where a path of each use is described. */
static const char *const path_definitions[_PATH_USE_COUNT] = {
	[PATH_READ] = "path",
	[PATH_WRITE] = "writablePath",
	[PATH_DENY] = "deniedPath",
	[PATH_PROTECT] = "path",
	[PATH_BIND_SOURCE] = "path",
	[PATH_BIND_TARGET] = "targetPath",
	[PATH_TMPFS] = "mountedPath",
};

static json_t *words_json(const char *const *words)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; words[i] != NULL; i++)
		if (json_array_append_new(list, json_text(words[i])) < 0)
			return NULL;
	return json_incref(list);
}

static json_t *reference(const char *name)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", name));
}

static json_t *path_reference(enum policy_path_use use)
{
	return reference(path_definitions[use]);
}

/* A bound as a JSON number has it: seconds, processors, bytes, or how many. */
static json_t *bound(enum policy_kind kind, uint64_t number)
{
	uint64_t unit = kind == KIND_TIME ? NS_PER_S : kind == KIND_MILLI ? 1000 : 1;

	return number % unit == 0 ? json_u64(number / unit) : json_real((double)number / (double)unit);
}

static json_t *number_types(const struct policy_field *field)
{
	bool fractions = field->kind == KIND_TIME || field->kind == KIND_MILLI;
	cleanup_json json_t *types = json_pack("[s]", fractions ? "number" : "integer");

	if (field->kind != KIND_COUNT && json_array_append_new(types, json_string("string")) < 0)
		return NULL;
	if (field->nullable && json_array_append_new(types, json_string("null")) < 0)
		return NULL;
	return json_incref(types);
}

/* Each keyword speaks of one type alone, so that they can stand side by side. */
static json_t *describe_number(const struct policy_field *field)
{
	const char *form = field->kind == KIND_TIME ? TIME : field->kind == KIND_SIZE ? SIZE : DECIMAL;
	cleanup_json json_t *json = json_pack("{s:o, s:o, s:o}", "type", number_types(field), "minimum",
		bound(field->kind, field->min), "maximum", bound(field->kind, field->max));

	if (field->kind == KIND_COUNT)
		return json_incref(json);
	if (json_put(json, "pattern", json_sprintf("^(%s%s)$", field->nullable ? "none|" : "", form)) < 0)
		return NULL;
	if (field->min > 0 && json_put(json, "not", json_pack("{s:s, s:s}", "type", "string", "pattern", ZERO)) < 0)
		return NULL;
	return json_incref(json);
}

static json_t *describe_word(const struct policy_field *field)
{
	return json_pack("{s:o}", "enum", words_json(field->words));
}

static json_t *describe_bool(const struct policy_field *field)
{
	(void)field;
	return json_pack("{s:s}", "type", "boolean");
}

static json_t *describe_root(const struct policy_field *field)
{
	(void)field;
	return json_pack("{s:[{s:o}, o]}", "anyOf", "enum", words_json(policy_root_words), reference("rootPath"));
}

static json_t *describe_hostname(const struct policy_field *field)
{
	(void)field;
	return json_pack("{s:s, s:s, s:i}", "type", "string", "pattern", HOST, "maxLength", POLICY_HOSTNAME_MAX);
}

json_t *policy_schema_name(const char *const *words)
{
	return json_pack("{s:[{s:o}, {s:s, s:s, s:i}]}", "anyOf", "enum", words_json(words), "type", "string",
		"pattern", "^[^:]", "maxLength", PATH_LENGTH_MAX);
}

static json_t *describe_profile(const struct policy_field *field)
{
	(void)field;
	return policy_schema_name(policy_seccomp_profile_words);
}

static json_t *describe_errno(const struct policy_field *field)
{
	const char *names[POLICY_ERRNO_MAX + 1];
	cleanup_json json_t *list = json_array();

	(void)field;
	policy_errno_names(names);
	for (size_t i = 0; names[i] != NULL; i++)
		if (names[i][1] != '?' && json_array_append_new(list, json_text(names[i])) < 0)
			return NULL;
	return json_pack("{s:O}", "enum", list);
}

static json_t *describe_path(const struct policy_field *field)
{
	static const enum policy_path_use uses[_ACCESS_COUNT] = {
		[ACCESS_READ] = PATH_READ,
		[ACCESS_WRITE] = PATH_WRITE,
		[ACCESS_DENY] = PATH_DENY,
		[ACCESS_PROTECT] = PATH_PROTECT,
	};

	return path_reference(uses[field->access]);
}

static json_t *describe_pattern(const struct policy_field *field)
{
	(void)field;
	return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[^=]+$");
}

static json_t *describe_syscall(const struct policy_field *field)
{
	(void)field;
	return reference("systemCall");
}

static json_t *describe_requirement(const struct policy_field *field)
{
	(void)field;
	return reference("requirement");
}

/* Of policy_fields, the one of filesystem.tmpfs has the bounds of the size in it. */
static json_t *describe_member(const struct policy_member *member)
{
	struct policy_field field = policy_fields[FIELD_TMPFS];

	field.kind = member->kind;
	return member->kind == KIND_PATHS ? path_reference(member->use) : policy_schema_kind(&field);
}

static json_t *describe_members(const struct policy_member *members)
{
	cleanup_json json_t *properties = json_object();
	cleanup_json json_t *required = json_array();

	for (size_t i = 0; members[i].name != NULL; i++) {
		json_t *json = describe_member(&members[i]);

		if (json_put(properties, members[i].name, json) < 0 ||
			json_put(json, "description", json_text(members[i].about)) < 0 ||
			(members[i].required && json_array_append_new(required, json_text(members[i].name)) < 0))
			return NULL;
	}
	return json_pack("{s:s, s:O, s:O, s:b}", "type", "object", "properties", properties, "required", required,
		"additionalProperties", false);
}

static json_t *describe_bind(const struct policy_field *field)
{
	(void)field;
	return describe_members(policy_bind_members);
}

static json_t *describe_tmpfs(const struct policy_field *field)
{
	(void)field;
	return describe_members(policy_tmpfs_members);
}

/* The value of one; the name is said where the object is. */
static json_t *describe_variable(const struct policy_field *field)
{
	(void)field;
	return json_pack("{s:s, s:i}", "type", "string", "maxLength", POLICY_VARIABLE_MAX - 3);
}

json_t *policy_schema_kind(const struct policy_field *field)
{
	static json_t *(*const describers[_KIND_COUNT])(const struct policy_field *) = {
		[KIND_WORD] = describe_word,
		[KIND_BOOL] = describe_bool,
		[KIND_ROOT] = describe_root,
		[KIND_TIME] = describe_number,
		[KIND_SIZE] = describe_number,
		[KIND_COUNT] = describe_number,
		[KIND_MILLI] = describe_number,
		[KIND_HOSTNAME] = describe_hostname,
		[KIND_PROFILE] = describe_profile,
		[KIND_ERRNO] = describe_errno,
		[KIND_PATHS] = describe_path,
		[KIND_PATTERNS] = describe_pattern,
		[KIND_SYSCALLS] = describe_syscall,
		[KIND_REQUIREMENTS] = describe_requirement,
		[KIND_BINDS] = describe_bind,
		[KIND_TMPFS] = describe_tmpfs,
		[KIND_VARIABLES] = describe_variable,
	};

	return describers[field->kind](field);
}

static json_t *path_definition(const struct policy_path_form *form)
{
	cleanup_json json_t *json =
		json_pack("{s:s, s:i, s:s}", "type", "string", "maxLength", PATH_LENGTH_MAX, "pattern", form->is);

	if (form->is_not != NULL && json_put(json, "not", json_pack("{s:s}", "pattern", form->is_not)) < 0)
		return NULL;
	return json_incref(json);
}

/* "network", and "network=net_namespace" for each mechanism. */
static json_t *requirements_json(void)
{
	cleanup_json json_t *list = json_array();

	for (size_t i = 0; policy_feature_names[i] != NULL; i++) {
		const char *name = policy_feature_names[i];
		const char *const *mechanisms = policy_feature_mechanisms(name);

		if (json_array_append_new(list, json_text(name)) < 0)
			return NULL;
		for (size_t k = 0; mechanisms[k] != NULL; k++)
			if (json_array_append_new(list, json_sprintf("%s=%s", name, mechanisms[k])) < 0)
				return NULL;
	}
	return json_incref(list);
}

json_t *policy_schema_definitions(const char *const *syscalls)
{
	cleanup_json json_t *json = json_pack("{s:{s:o}, s:{s:o}, s:o}", "systemCall", "enum", words_json(syscalls),
		"requirement", "enum", requirements_json(), "rootPath", path_definition(&policy_root_form));

	for (unsigned use = 0; use < _PATH_USE_COUNT; use++)
		if (json_put(json, path_definitions[use], path_definition(&policy_path_forms[use])) < 0)
			return NULL;
	return json_incref(json);
}
