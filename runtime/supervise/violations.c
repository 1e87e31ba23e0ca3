/*
 * The list of violations. A command can plant the same name a thousand times a second: each kind, path and action is
 * recorded once, and after a thousand different ones nothing more is.
 */
#include "runtime/supervise/violations.h"

#include "base/str.h"

static bool is_known(const struct violations *violations, const char *kind, const char *path, const char *action)
{
	for (size_t i = 0; i < violations->n; i++) {
		const struct outcome_violation *old = &violations->list[i];

		if (str_equal(old->path, path) && str_equal(old->kind, kind) && str_equal(old->action, action))
			return true;
	}
	return false;
}

int violations_add(
	struct violations *violations, const char *kind, const char *path, const char *action, struct error *err)
{
	struct outcome_violation *violation;

	if (violations->n >= VIOLATIONS_MAX || is_known(violations, kind, path, action))
		return 0;
	violation = arena_push(violations->arena, &violations->list, &violations->n);
	if (violation == NULL)
		return error_no_memory(err);
	violation->kind = kind;
	violation->action = action;
	violation->path = arena_strdup(violations->arena, path);
	if (violation->path == NULL)
		return error_no_memory(err);
	return violations->added(violations->userdata, violation, err);
}
