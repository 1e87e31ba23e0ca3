/* Compiled filters against the decisions they were made from, on every number and on arguments near every bound. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "seccomp/compile.h"
#include "tests/unit/bpf_machine.h"
#include "tests/unit/harness.h"

TestSuite(filter_compile, .fini = harness_leak_check);

/* xorshift: the same numbers in every run. */
struct random {
	uint64_t state;
};

static uint64_t random_next(struct random *random)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state;
}

static uint64_t random_below(struct random *random, uint64_t end)
{
	return random_next(random) % end;
}

static const uint64_t edges[] = {0, 1, 2, 0x5412, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
	0x100000001, 0x100005412, 0xffffffff00000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe,
	0xffffffffffffffff};
static const uint64_t masks[] = {
	FILTER_MASK_ALL, FILTER_MASK_INT, 0xc00, 0x400, 0x400000000, 0xf000f0000000, 0xffffffff00000000, 0, 0xf000};
static const uint32_t actions[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_LOG, SECCOMP_RET_TRAP, SECCOMP_RET_KILL_PROCESS,
	SECCOMP_RET_KILL_THREAD, FILTER_ERRNO(EPERM), FILTER_ERRNO(ENOSYS), FILTER_ERRNO(EACCES)};

#define N_OF(array)         (sizeof(array) / sizeof *(array))
#define PICK(random, array) ((array)[random_below((random), N_OF(array))])

static struct arena *new_arena(void)
{
	struct arena *arena = NULL;
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	return arena;
}

static struct filter compile(const struct filter_plan *plan, struct arena *arena)
{
	struct filter filter = {0};
	struct error err = {0};

	harness_ok(filter_compile(plan, arena, &filter, &err), &err);
	bpf_machine_check(&filter);
	return filter;
}

static struct filter_plan *plain_plan(struct arena *arena, uint32_t action)
{
	struct filter_plan *plan = arena_alloc(arena, sizeof *plan);

	plan->beyond = action;
	for (size_t i = 0; i < SYSCALL_NUMBERS; i++)
		filter_decision_set(&plan->decisions[i], action);
	return plan;
}

static void expect_same(
	const struct filter_plan *plan, const struct filter *filter, uint32_t number, const uint64_t args[6])
{
	uint32_t wanted = filter_plan_decide(plan, number, args), got = bpf_machine_call(filter, number, args);

	cr_assert_eq(got, wanted, "call %u(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx): 0x%08x instead of 0x%08x", number,
		args[0], args[1], args[2], args[3], args[4], args[5], got, wanted);
}

/* Arguments at and beside the values that the call's own rules compare with. */
static void random_args(struct random *random, const struct filter_decision *decision, uint64_t args[6])
{
	for (size_t i = 0; i < 6; i++)
		args[i] = random_below(random, 3) == 0 ? random_next(random) : PICK(random, edges);
	for (size_t i = 0; decision != NULL && i < decision->n_rules; i++)
		for (size_t t = 0; t < decision->rules[i].n_tests; t++) {
			const struct filter_test *test = &decision->rules[i].tests[t];
			uint64_t noise = random_below(random, 2) == 0 ? random_next(random) & ~test->mask : 0;

			if (random_below(random, 2) == 0)
				args[test->arg] = (test->value + random_below(random, 3) - 1) ^ noise;
		}
}

static void expect_agreement(
	const struct filter_plan *plan, const struct filter *filter, struct random *random, int rounds)
{
	static const uint32_t beyond[] = {
		SYSCALL_NUMBERS, SYSCALL_NUMBERS + 1, 600, 1000, 0x3fffffff, 0x40000000, 0x40000001, 0xffffffff};
	uint64_t args[6];

	for (uint32_t number = 0; number < SYSCALL_NUMBERS; number++)
		for (int round = 0; round < rounds; round++) {
			random_args(random, &plan->decisions[number], args);
			expect_same(plan, filter, number, args);
		}
	for (size_t i = 0; i < N_OF(beyond); i++) {
		random_args(random, NULL, args);
		expect_same(plan, filter, beyond[i], args);
	}
}

Test(filter_compile, one_answer_for_all)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct filter_plan *plan = plain_plan(arena, SECCOMP_RET_ALLOW);
	struct filter filter = compile(plan, arena);
	struct random random = {7};

	expect_agreement(plan, &filter, &random, 1);
	cr_expect_leq(filter.n, 6);
}

Test(filter_compile, other_architectures_are_killed)
{
	static const uint32_t architectures[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0, UINT32_MAX};
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct filter filter = compile(plain_plan(arena, SECCOMP_RET_ALLOW), arena);

	for (size_t i = 0; i < N_OF(architectures); i++)
		for (int number = 0; number < 600; number++) {
			struct seccomp_data data = {.nr = number, .arch = architectures[i]};

			cr_assert_eq(bpf_machine_run(&filter, &data), SECCOMP_RET_KILL_PROCESS);
		}
}

/* Every operator with every mask, with the value and the argument at every edge. */
static void operator_expect(enum filter_op op, uint64_t mask)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();

	for (size_t v = 0; v < N_OF(edges); v++) {
		struct filter_plan *plan = plain_plan(arena, SECCOMP_RET_ALLOW);
		struct filter_test test = {(unsigned)(v % FILTER_ARGS), op, mask, edges[v]};
		struct filter_rule rule = {&test, 1, FILTER_ERRNO(EPERM)};
		struct filter filter;

		plan->decisions[100] = (struct filter_decision){&rule, 1, SECCOMP_RET_ALLOW};
		filter = compile(plan, arena);
		for (size_t a = 0; a < N_OF(edges); a++) {
			uint64_t args[6] = {11, 12, 13, 14, 15, 16};

			args[test.arg] = edges[a];
			expect_same(plan, &filter, 100, args);
		}
	}
}

Test(filter_compile, every_operator_and_mask)
{
	for (int op = 0; op < _FILTER_OP_COUNT; op++)
		for (size_t m = 0; m < N_OF(masks); m++)
			operator_expect((enum filter_op)op, masks[m]);
}

static void random_decision(struct random *random, struct filter_decision *decision, struct arena *arena)
{
	size_t n_rules = random_below(random, 4);

	decision->otherwise = PICK(random, actions);
	for (size_t i = 0; i < n_rules; i++) {
		struct filter_rule *rule = arena_push(arena, &decision->rules, &decision->n_rules);
		struct filter_test *tests = arena_alloc(arena, 4 * sizeof *tests);

		rule->tests = tests;
		rule->n_tests = random_below(random, 5);
		rule->action = PICK(random, actions);
		for (size_t t = 0; t < rule->n_tests; t++)
			tests[t] = (struct filter_test){(unsigned)random_below(random, FILTER_ARGS),
				(enum filter_op)random_below(random, _FILTER_OP_COUNT), PICK(random, masks),
				PICK(random, edges)};
	}
}

/* Dense tables make far jumps: a range tree over hundreds of different answers is thousands of instructions. */
Test(filter_compile, random_tables)
{
	struct random random = {0x9e3779b97f4a7c15};
	size_t longest = 0;

	for (int round = 0; round < 25; round++) {
		cleanup_with(arena_freep) struct arena *arena = new_arena();
		struct filter_plan *plan = plain_plan(arena, FILTER_ERRNO(ENOSYS));
		size_t n = 20 + random_below(&random, 380);
		struct filter filter;

		for (size_t i = 0; i < n; i++)
			random_decision(&random, &plan->decisions[random_below(&random, SYSCALL_NUMBERS)], arena);
		filter = compile(plan, arena);
		longest = filter.n > longest ? filter.n : longest;
		expect_agreement(plan, &filter, &random, 20);
	}
	cr_expect_gt(longest, 2000, "the longest table has %zu instructions: none needed far jumps", longest);
}

Test(filter_compile, answers_that_change_at_every_number)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct filter_plan *plan = plain_plan(arena, SECCOMP_RET_ALLOW);
	struct random random = {3};
	struct filter filter;

	for (uint32_t number = 0; number < SYSCALL_NUMBERS; number++)
		plan->decisions[number].otherwise = FILTER_ERRNO(number);
	filter = compile(plan, arena);
	expect_agreement(plan, &filter, &random, 1);
}

Test(filter_compile, too_many_instructions_are_refused)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct filter_plan *plan = plain_plan(arena, SECCOMP_RET_ALLOW);
	struct filter_rule *rules = arena_alloc(arena, SYSCALL_NUMBERS * sizeof *rules);
	struct filter filter = {.n = 77};
	struct error err = {0};

	for (unsigned number = 0; number < SYSCALL_NUMBERS; number++) {
		struct filter_test *tests = arena_alloc(arena, FILTER_ARGS * sizeof *tests);

		for (unsigned i = 0; i < FILTER_ARGS; i++)
			tests[i] = (struct filter_test){i, FILTER_GE, 0xfff0fff0, number + 1};
		rules[number] = (struct filter_rule){tests, FILTER_ARGS, FILTER_ERRNO(EPERM)};
		plan->decisions[number] = (struct filter_decision){&rules[number], 1, SECCOMP_RET_ALLOW};
	}
	cr_assert_eq(filter_compile(plan, arena, &filter, &err), -1);
	cr_expect_eq(err.code, ERROR_LIMIT);
	cr_expect_eq(filter.n, 77);
}

Test(filter_compile, same_rules_share_their_instructions)
{
	cleanup_with(arena_freep) struct arena *arena = new_arena();
	struct filter_plan *plan = plain_plan(arena, SECCOMP_RET_ALLOW);
	struct filter_test test = {1, FILTER_NE, 06000, 0};
	struct filter_rule rule = {&test, 1, FILTER_ERRNO(EPERM)};
	size_t one, two;

	plan->decisions[SYS_chmod] = (struct filter_decision){&rule, 1, SECCOMP_RET_ALLOW};
	one = compile(plan, arena).n;
	plan->decisions[SYS_mkdir] = plan->decisions[SYS_chmod];
	two = compile(plan, arena).n;
	cr_expect_eq(two, one + 2, "a second call with the same rule costs two comparisons");
}
