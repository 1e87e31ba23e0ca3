/*
 * A profile in the OCI or moby format, from its text to the filter that the kernel gets.
 *
 * What must hold of every profile that is taken: the kernel would load the filter, the filter answers what was decided
 * for every call that is tried, and no profile lifts a refusal of overlay.h. Of each system
 * call those arguments are mixed around which its own tests and the refusals turn, with and without rubbish in the
 * upper half.
 */
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "seccomp/compile.h"
#include "seccomp/overlay.h"
#include "seccomp/profile_oci.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/bpf_machine.h"

#define TURNS_MAX   32
#define TRIES       96
#define RUBBISH     0xdeadbeef00000000
#define REFUSED_MAX 16 /* refusals of one call */

/* The refusals of each call; those of the second kind hold where the command can make user namespaces. */
struct refusals {
	const struct overlay_rule *rules[REFUSED_MAX];
	size_t n;
};
static struct refusals always[SYSCALL_NUMBERS], with_namespaces[SYSCALL_NUMBERS];

/* What decides about a call under test. */
struct trial {
	const struct filter_plan *plan;
	const struct filter *filter;
	uint64_t turns[TURNS_MAX]; /* arguments around which something turns */
	size_t n_turns;
	uint64_t chance;
};

static void list_refusals(const struct overlay_rule *rules, size_t n, struct refusals *lists)
{
	for (size_t i = 0; i < n; i++) {
		const char *names = rules[i].names;
		char name[SYSCALL_NAME_SIZE];

		while (syscall_group_next(&names, name) > 0) {
			struct refusals *list = &lists[syscall_number(name)];

			cr_assert_lt(list->n, REFUSED_MAX);
			list->rules[list->n++] = &rules[i];
		}
	}
}

static void list_all_refusals(void)
{
	static bool done;

	if (done)
		return;
	list_refusals(overlay_rules, overlay_rules_n, always);
	list_refusals(overlay_namespace_rules, overlay_namespace_rules_n, with_namespaces);
	done = true;
}

static void add_turn(struct trial *trial, uint64_t value)
{
	for (size_t i = 0; i < trial->n_turns; i++)
		if (trial->turns[i] == value)
			return;
	if (trial->n_turns < TURNS_MAX)
		trial->turns[trial->n_turns++] = value;
}

static void add_tests(struct trial *trial, const struct filter_test *tests, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_turn(trial, tests[i].value);
		add_turn(trial, tests[i].mask);
		add_turn(trial, RUBBISH | tests[i].value);
		add_turn(trial, tests[i].value + 1);
		add_turn(trial, tests[i].value - 1);
	}
}

static void gather(struct trial *trial, uint32_t number)
{
	const struct filter_decision *decision = &trial->plan->decisions[number];
	const struct refusals *refusals = &always[number];

	trial->n_turns = 0;
	add_turn(trial, 0);
	add_turn(trial, UINT64_MAX);
	for (size_t i = 0; i < refusals->n; i++)
		add_tests(trial, refusals->rules[i]->tests, refusals->rules[i]->n_tests);
	for (size_t i = refusals->n; i < decision->n_rules; i++) /* those of the profile are behind them */
		add_tests(trial, decision->rules[i].tests, decision->rules[i].n_tests);
}

/* By the plain reading of tests, as a plan of one rule. */
static bool is_meant(const struct overlay_rule *refusal, const uint64_t args[FILTER_ARGS])
{
	static struct filter_plan plan; /* too large for a stack */
	struct filter_rule rule = {refusal->tests, refusal->n_tests, SECCOMP_RET_KILL_PROCESS};

	plan.decisions[0] = (struct filter_decision){&rule, 1, SECCOMP_RET_ALLOW};
	return filter_plan_decide(&plan, 0, args) == SECCOMP_RET_KILL_PROCESS;
}

static bool are_meant(const struct refusals *refusals, const uint64_t args[FILTER_ARGS])
{
	for (size_t i = 0; i < refusals->n; i++)
		if (is_meant(refusals->rules[i], args))
			return true;
	return false;
}

/* Whether no profile may let the call through. */
static bool is_refused(const struct filter_plan *plan, uint32_t number, const uint64_t args[FILTER_ARGS])
{
	if (number >= SYSCALL_NUMBERS || syscall_name(number) == NULL || are_meant(&always[number], args))
		return true;
	if (plan->user_namespaces)
		return are_meant(&with_namespaces[number], args);
	return number == SYS_unshare || (number == SYS_clone && (args[0] & CLONE_NEWUSER) != 0);
}

static void try_call(const struct trial *trial, uint32_t number, const uint64_t args[FILTER_ARGS])
{
	uint32_t answer = bpf_machine_call(trial->filter, number, args);

	cr_assert_eq(answer, filter_plan_decide(trial->plan, number, args), "call %u: %#x", number, answer);
	if (is_refused(trial->plan, number, args))
		cr_assert_not(filter_action_allows(answer), "call %u is let through against a refusal", number);
}

static uint64_t draw(struct trial *trial)
{
	trial->chance = trial->chance * 6364136223846793005u + 1442695040888963407u;
	return trial->chance >> 33;
}

static void try_number(struct trial *trial, uint32_t number)
{
	uint64_t args[FILTER_ARGS];

	gather(trial, number);
	for (size_t i = 0; i < (trial->n_turns > 2 ? TRIES : 2); i++) {
		for (size_t arg = 0; arg < FILTER_ARGS; arg++)
			args[arg] = trial->turns[i < trial->n_turns ? i : draw(trial) % trial->n_turns];
		try_call(trial, number, args);
	}
}

static void try_all(const struct filter_plan *plan, const struct filter *filter)
{
	static const uint32_t beyond[] = {SYSCALL_NUMBERS, 0x40000000, 0x40000001, 0x7fffffff, UINT32_MAX};
	static const uint64_t no_args[FILTER_ARGS];
	const struct seccomp_data other = {.arch = AUDIT_ARCH_I386};
	struct trial trial = {.plan = plan, .filter = filter};

	list_all_refusals();
	cr_assert_eq(bpf_machine_run(filter, &other), SECCOMP_RET_KILL_PROCESS);
	for (uint32_t number = 0; number < SYSCALL_NUMBERS; number++)
		try_number(&trial, number);
	for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
		try_call(&trial, beyond[i], no_args);
}

static void read_profile(struct arena *arena, const char *text, size_t size)
{
	struct filter_plan *plan = arena_alloc(arena, sizeof *plan);
	cleanup_diag struct diag diag = {0};
	struct error err = {0};
	struct filter filter;

	cr_assert_not_null(plan);
	if (profile_oci_parse(text, size, "p.json", KERNEL_VERSION_OF(6, 1), plan, arena, &diag, &err) < 0) {
		cr_assert_eq(err.code, ERROR_POLICY_INVALID);
		cr_assert_gt(diag.n_errors, 0);
		return;
	}
	cr_assert_eq(diag.n_errors, 0);
	cr_assert_eq(overlay_apply(plan, arena, &err), 0);
	if (filter_compile(plan, arena, &filter, &err) < 0) {
		cr_assert_eq(err.code, ERROR_LIMIT, "%s", err.text);
		return;
	}
	bpf_machine_check(&filter);
	try_all(plan, &filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;

	cr_assert_eq(arena_new(&arena, NULL), 0);
	read_profile(arena, (const char *)data, size);
	return 0;
}
