/*
 * A filter for a request: the embedded bytes where it is a plain built-in, else the same compiler at plan time.
 *
 * The usual launch asks for ":default" and nothing else; its filter was compiled when pinfold was built and lies in
 * read-only memory. The request comes from a policy, whose file an attacker may have written: names are checked against
 * the table of calls, the size of a profile file is bounded, and the refusals of overlay.c are laid on last.
 */
#include "seccomp/filter.h"

#include "base/str.h"
#include "seccomp/builtin.h"
#include "seccomp/compile.h"
#include "seccomp/filter_plan.h"

static const struct builtin_filter *builtin_find(const struct filter_request *request)
{
	if (request->n_allow > 0 || request->n_deny > 0)
		return NULL;
	for (size_t i = 0; i < builtin_filters_n; i++)
		if (str_equal(builtin_filters[i].profile, request->profile) &&
			builtin_filters[i].nested_namespaces == request->nested_namespaces)
			return &builtin_filters[i];
	return NULL;
}

int filter_make(const struct filter_request *request, struct arena *arena, struct filter *ret_filter, struct diag *diag,
	struct error *err)
{
	const struct builtin_filter *builtin = builtin_find(request);
	cleanup_with(arena_freep) struct arena *scratch = NULL;
	const struct filter_plan *plan;

	if (builtin != NULL) {
		*ret_filter = builtin->filter;
		return 0;
	}
	if (arena_new(&scratch, err) < 0 || filter_plan_new(request, scratch, &plan, diag, err) < 0)
		return -1;
	return filter_compile(plan, arena, ret_filter, err);
}
