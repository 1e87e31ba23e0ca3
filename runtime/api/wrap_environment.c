/*
 * The environment with which a wrapped run is started: what the policy passes on to the command, as it is now; what
 * pinfold itself goes by (HOME, which says what "~/" is and whose secrets are hidden, and PINFOLD_*); and the values of
 * the variables that the policy sets, each in a variable that carries it. pinfold finds the user's service manager, of
 * which it has its cgroup, by two more: they are handed on as they are here, or the run would be held by other means
 * than the document says.
 *
 * Threat: a value that is set for the command would change pinfold itself where pinfold or its loader reads a variable
 * of that name: with another HOME, other secrets would be hidden. Such a value is carried under another name.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/api/wrap.h"
#include "runtime/plan/plan.h"

#define ARGUMENT_MAX ((size_t)128 * 1024) /* the kernel's MAX_ARG_STRLEN, with the NUL */

static bool leads_to_manager(const char *name)
{
	return str_equal(name, "XDG_RUNTIME_DIR") || str_equal(name, "DBUS_SESSION_BUS_ADDRESS");
}

static bool is_read_by_pinfold(const char *name)
{
	return str_equal(name, "HOME") || leads_to_manager(name) || str_starts_with(name, "PINFOLD");
}

static bool is_read_by_loader(const char *name)
{
	return str_starts_with(name, "LD_") || str_starts_with(name, "GLIBC_") || str_starts_with(name, "MALLOC_");
}

const char *wrap_carrier(struct arena *arena, const char *name)
{
	if (is_read_by_pinfold(name) || is_read_by_loader(name))
		return arena_printf(arena, "PINFOLD_SET_%s", name);
	return arena_strdup(arena, name);
}

int wrap_check_text(const char *text, const char *what, struct error *err)
{
	if (!str_utf8_valid(text, strlen(text)))
		return error_set(err, ERROR_USAGE, "wrap", "%s is not UTF-8, which JSON cannot carry", what);
	if (strlen(text) >= ARGUMENT_MAX)
		return error_set(err, ERROR_LIMIT, "wrap",
			"%s is longer than the %zu bytes that a program can be given", what, ARGUMENT_MAX - 1);
	return 0;
}

static int put(json_t *json, struct arena *arena, const char *name, const char *value, struct error *err)
{
	const char *entry = arena_printf(arena, "%s=%s", name, value);
	char shown[100], what[128];

	if (entry == NULL)
		return error_no_memory(err);
	(void)snprintf(what, sizeof what, "variable %s", str_printable(name, shown, sizeof shown));
	if (wrap_check_text(entry, what, err) < 0) {
		error_set_fix(err, "unset it, or take it out of what the policy passes on");
		return -1;
	}
	return json_put(json, name, json_text(value)) < 0 ? error_no_memory(err) : 0;
}

/* Those of `from` that `wanted` takes. */
static int put_from(json_t *json, struct arena *arena, char *const *from, const struct policy *policy,
	bool (*wanted)(const struct policy *, const char *name), struct error *err)
{
	for (; from != NULL && *from != NULL; from++) {
		const char *equals = strchr(*from, '=');
		const char *name = equals != NULL ? arena_strndup(arena, *from, (size_t)(equals - *from)) : NULL;

		if (equals == NULL || equals == *from)
			continue;
		if (name == NULL)
			return error_no_memory(err);
		if (wanted(policy, name) && put(json, arena, name, equals + 1, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_own_variable(const struct policy *policy, const char *name)
{
	(void)policy;
	return leads_to_manager(name) || str_starts_with(name, "PINFOLD_");
}

static bool is_home(const struct policy *policy, const char *name)
{
	(void)policy;
	return str_equal(name, "HOME");
}

int wrap_environment(const struct policy *policy, const struct policy_own *own, char *const *caller,
	struct arena *arena, json_t **ret_json, struct error *err)
{
	cleanup_json json_t *json = json_object();

	if (json == NULL)
		return error_no_memory(err);
	if (put_from(json, arena, caller, policy, plan_passes_variable, err) < 0 ||
		put_from(json, arena, caller, policy, is_home, err) < 0 ||
		put_from(json, arena, environ, policy, is_own_variable, err) < 0)
		return -1;
	for (size_t i = 0; i < own->n_set; i++) {
		const char *carrier = wrap_carrier(arena, own->set[i].name);

		if (carrier == NULL)
			return error_no_memory(err);
		if (put(json, arena, carrier, own->set[i].value, err) < 0)
			return -1;
	}
	*ret_json = json_incref(json);
	return 0;
}
