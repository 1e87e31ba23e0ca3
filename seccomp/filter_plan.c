/*
 * The decision table of a filter: a profile's groups, with the request's wishes laid over them.
 *
 * Order: profile, nested namespaces, allow, deny; then the refusals of overlay.c, which are nobody's to lift. A call
 * named by both allow and deny is denied. Names come from policy files: an unknown one is an error, never skipped,
 * because a misspelt "deny" would otherwise deny nothing.
 */
#include "seccomp/filter_plan.h"

#include <errno.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "seccomp/groups.h"
#include "seccomp/overlay.h"
#include "seccomp/profile_builtin.h"
#include "seccomp/profile_oci.h"

#define ERRNO_MAX 4095 /* the kernel cuts what is above */

bool filter_action_allows(uint32_t action)
{
	uint32_t kind = action & SECCOMP_RET_ACTION_FULL;

	return kind == SECCOMP_RET_ALLOW || kind == SECCOMP_RET_LOG;
}

bool filter_action_ends(uint32_t action)
{
	uint32_t kind = action & SECCOMP_RET_ACTION_FULL;

	return kind == SECCOMP_RET_KILL_PROCESS || kind == SECCOMP_RET_KILL_THREAD || kind == SECCOMP_RET_TRAP;
}

static bool test_holds(const struct filter_test *test, const uint64_t args[FILTER_ARGS])
{
	uint64_t value = args[test->arg] & test->mask;

	switch (test->op) {
	case FILTER_EQ: return value == test->value;
	case FILTER_NE: return value != test->value;
	case FILTER_LT: return value < test->value;
	case FILTER_LE: return value <= test->value;
	case FILTER_GT: return value > test->value;
	case FILTER_GE: return value >= test->value;
	case _FILTER_OP_COUNT: break;
	}
	return false;
}

static bool rule_holds(const struct filter_rule *rule, const uint64_t args[FILTER_ARGS])
{
	for (size_t i = 0; i < rule->n_tests; i++)
		if (!test_holds(&rule->tests[i], args))
			return false;
	return true;
}

uint32_t filter_plan_decide(const struct filter_plan *plan, uint32_t number, const uint64_t args[FILTER_ARGS])
{
	const struct filter_decision *decision;

	if (number >= SYSCALL_NUMBERS)
		return plan->beyond;
	decision = &plan->decisions[number];
	for (size_t i = 0; i < decision->n_rules; i++)
		if (rule_holds(&decision->rules[i], args))
			return decision->rules[i].action;
	return decision->otherwise;
}

void filter_decision_set(struct filter_decision *decision, uint32_t action)
{
	*decision = (struct filter_decision){.otherwise = action};
}

void filter_plan_set_group(struct filter_plan *plan, const struct syscall_group *group, uint32_t action)
{
	const char *names = group->names;
	char name[SYSCALL_NAME_SIZE];

	while (syscall_group_next(&names, name) > 0) {
		int number = syscall_number(name);

		if (number >= 0 && number < SYSCALL_NUMBERS)
			filter_decision_set(&plan->decisions[number], action);
	}
}

static void nested_allow(struct filter_plan *plan)
{
	for (size_t i = 0; i < syscall_groups_n; i++)
		if (syscall_groups[i].access == GROUP_NESTED)
			filter_plan_set_group(plan, &syscall_groups[i], SECCOMP_RET_ALLOW);
	filter_decision_set(&plan->decisions[SYS_clone], SECCOMP_RET_ALLOW);
}

static void name_refuse(const char *field, const char *name, struct arena *arena, struct diag *diag)
{
	const char *nearest = syscall_nearest(name, arena);
	char printable[80];

	str_printable(name, printable, sizeof printable);
	if (syscall_is_foreign(name))
		diag_error(diag, "seccomp.%s: \"%s\" is no system call of x86-64", field, printable);
	else if (nearest != NULL)
		diag_error(diag, "seccomp.%s: unknown system call \"%s\"; did you mean \"%s\"?", field, printable,
			nearest);
	else
		diag_error(diag, "seccomp.%s: unknown system call \"%s\"", field, printable);
}

static void names_set(struct filter_plan *plan, const char *field, const char *const *names, size_t n, uint32_t action,
	struct arena *arena, struct diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		int number = syscall_number(names[i]);

		if (number < 0 || number >= SYSCALL_NUMBERS)
			name_refuse(field, names[i], arena, diag);
		else
			filter_decision_set(&plan->decisions[number], action);
	}
}

static int plan_adjust(struct filter_plan *plan, const struct filter_request *request, struct arena *arena,
	struct diag *diag, struct error *err)
{
	int deny_errno = request->deny_errno == 0 ? EPERM : request->deny_errno;

	if (deny_errno < 0 || deny_errno > ERRNO_MAX)
		diag_error(diag, "seccomp.errno: %d is no error number", deny_errno);
	if (request->nested_namespaces)
		nested_allow(plan);
	names_set(plan, "allow", request->allow, request->n_allow, SECCOMP_RET_ALLOW, arena, diag);
	names_set(plan, "deny", request->deny, request->n_deny, FILTER_ERRNO(deny_errno), arena, diag);
	return diag_check(diag, ERROR_POLICY_INVALID, err);
}

int filter_plan_new(const struct filter_request *request, struct arena *arena, const struct filter_plan **ret_plan,
	struct diag *diag, struct error *err)
{
	struct filter_plan *plan = arena_alloc(arena, sizeof *plan);
	int result;

	if (plan == NULL)
		return error_no_memory(err);
	if (str_starts_with(request->profile, ":"))
		result = profile_builtin_read(request->profile, plan, arena, err);
	else
		result = profile_oci_read(request->profile, plan, arena, diag, err);
	if (result < 0 || plan_adjust(plan, request, arena, diag, err) < 0 || overlay_apply(plan, arena, err) < 0)
		return -1;
	*ret_plan = plan;
	return 0;
}
