/*
 * The compiler: a balanced tree of comparisons over ranges of numbers with the same answer, then, for the few calls
 * whose arguments matter, the tests on them.
 *
 * The program is emitted backwards, from its last instruction to its first. BPF jumps forward only, so every target is
 * there already when a jump to it is made, and its distance is known. A distance has 8 bits: a target further away gets
 * a copy (of a return) or a long jump (of anything else) nearby. A label is the index in the backward order.
 *
 * An argument has 64 bits and an instruction sees 32: each test compares the halves its mask reaches, the high one
 * first. A half that the mask does not reach is not looked at, as the kernel does not look at it either.
 *
 * The architecture comes first: numbers mean other calls in other architectures. Then a tree of about 60 comparisons
 * loads in a ninth of the time that one comparison for each call takes.
 */
#include "seccomp/compile.h"

#include <endian.h>
#include <linux/audit.h>
#include <string.h>

#define REACH    250 /* of 255: two targets are brought near one after the other */
#define HALF     UINT32_MAX
#define ARG_SIZE sizeof(uint64_t)

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "the low half of an argument comes first");

struct builder {
	struct sock_filter *code; /* backwards */
	size_t n;
	bool full;
};

/* A run of numbers with the same decision, up to the next segment's start. */
struct segment {
	uint32_t start;
	const struct filter_decision *decision;
};

struct block {
	const struct filter_decision *decision;
	size_t label;
};

struct tree {
	struct builder builder;
	struct segment segments[SYSCALL_NUMBERS + 1];
	size_t n_segments;
	struct block blocks[SYSCALL_NUMBERS];
	size_t n_blocks;
};

static size_t emit(struct builder *b, unsigned code, size_t yes, size_t no, uint32_t k)
{
	if (b->n == BPF_MAXINSNS) {
		b->full = true;
		return 0;
	}
	b->code[b->n] = (struct sock_filter){(uint16_t)code, (uint8_t)yes, (uint8_t)no, k};
	return b->n++;
}

/* How many instructions the next one would have to jump over. */
static size_t distance(const struct builder *b, size_t label)
{
	return b->full ? 0 : b->n - label - 1;
}

static size_t reach(struct builder *b, size_t label)
{
	const struct sock_filter *target = &b->code[label];

	if (distance(b, label) <= REACH)
		return label;
	if (target->code == (BPF_RET | BPF_K))
		return emit(b, target->code, 0, 0, target->k);
	return emit(b, BPF_JMP | BPF_JA, 0, 0, (uint32_t)distance(b, label));
}

static size_t emit_jump(struct builder *b, unsigned op, uint32_t k, size_t yes, size_t no)
{
	if (yes == no)
		return yes;
	yes = reach(b, yes);
	no = reach(b, no);
	return emit(b, BPF_JMP | BPF_K | op, distance(b, yes), distance(b, no), k);
}

static size_t emit_load(struct builder *b, size_t offset)
{
	return emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static size_t emit_return(struct builder *b, uint32_t action)
{
	for (size_t i = b->n; i > 0 && b->n - i < REACH; i--)
		if (b->code[i - 1].code == (BPF_RET | BPF_K) && b->code[i - 1].k == action)
			return i - 1;
	return emit(b, BPF_RET | BPF_K, 0, 0, action);
}

/* Where the target would load the word that is loaded already: the instruction behind its load. */
static size_t skip_load(const struct builder *b, size_t label, size_t offset)
{
	const struct sock_filter *target = &b->code[label];
	bool same = label > 0 && target->code == (BPF_LD | BPF_W | BPF_ABS) && target->k == offset;

	return same ? label - 1 : label;
}

/* (word at offset & mask) == value; value has no bit outside of mask. */
static size_t emit_half_equal(struct builder *b, size_t offset, uint32_t mask, uint32_t value, size_t yes, size_t no)
{
	bool one_bit = (mask & (mask - 1)) == 0;
	bool whole = mask == HALF;

	if (yes == no || mask == 0)
		return yes;
	if (whole || value == 0 || one_bit) {
		yes = skip_load(b, yes, offset);
		no = skip_load(b, no, offset);
	}
	if (whole) {
		emit_jump(b, BPF_JEQ, value, yes, no);
	} else if (value == 0) {
		emit_jump(b, BPF_JSET, mask, no, yes);
	} else if (one_bit) {
		emit_jump(b, BPF_JSET, mask, yes, no);
	} else {
		emit_jump(b, BPF_JEQ, value, yes, no);
		emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	}
	return emit_load(b, offset);
}

static size_t arg_offset(unsigned arg, bool high)
{
	return offsetof(struct seccomp_data, args) + arg * ARG_SIZE + (high ? sizeof(uint32_t) : 0);
}

static size_t emit_equal(struct builder *b, const struct filter_test *test, size_t yes, size_t no)
{
	size_t low;

	if ((test->value & ~test->mask) != 0)
		return no;
	low = emit_half_equal(b, arg_offset(test->arg, false), (uint32_t)test->mask, (uint32_t)test->value, yes, no);
	return emit_half_equal(
		b, arg_offset(test->arg, true), (uint32_t)(test->mask >> 32), (uint32_t)(test->value >> 32), low, no);
}

static size_t emit_masked_load(struct builder *b, size_t offset, uint32_t mask)
{
	if (mask != HALF)
		emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	return emit_load(b, offset);
}

/* (argument & mask) > value, or >= with op BPF_JGE. */
static size_t emit_above(struct builder *b, const struct filter_test *test, unsigned op, size_t yes, size_t no)
{
	uint32_t high = (uint32_t)(test->value >> 32);
	size_t low, equal;

	if (yes == no)
		return yes;
	emit_jump(b, op, (uint32_t)test->value, yes, no);
	low = emit_masked_load(b, arg_offset(test->arg, false), (uint32_t)test->mask);
	if (test->mask >> 32 == 0)
		return high == 0 ? low : no;
	equal = emit_jump(b, BPF_JEQ, high, low, no);
	emit_jump(b, BPF_JGT, high, yes, equal);
	return emit_masked_load(b, arg_offset(test->arg, true), (uint32_t)(test->mask >> 32));
}

static size_t emit_test(struct builder *b, const struct filter_test *test, size_t yes, size_t no)
{
	switch (test->op) {
	case FILTER_EQ: return emit_equal(b, test, yes, no);
	case FILTER_NE: return emit_equal(b, test, no, yes);
	case FILTER_GT: return emit_above(b, test, BPF_JGT, yes, no);
	case FILTER_GE: return emit_above(b, test, BPF_JGE, yes, no);
	case FILTER_LE: return emit_above(b, test, BPF_JGT, no, yes);
	case FILTER_LT: return emit_above(b, test, BPF_JGE, no, yes);
	case _FILTER_OP_COUNT: break;
	}
	return no;
}

static size_t emit_decision(struct builder *b, const struct filter_decision *decision)
{
	size_t next = emit_return(b, decision->otherwise);

	for (size_t i = decision->n_rules; i-- > 0;) {
		const struct filter_rule *rule = &decision->rules[i];
		size_t yes = emit_return(b, rule->action);

		for (size_t t = rule->n_tests; t-- > 0;)
			yes = emit_test(b, &rule->tests[t], yes, next);
		next = yes;
	}
	return next;
}

static bool tests_equal(const struct filter_rule *a, const struct filter_rule *b)
{
	for (size_t i = 0; i < a->n_tests; i++)
		if (a->tests[i].arg != b->tests[i].arg || a->tests[i].op != b->tests[i].op ||
			a->tests[i].mask != b->tests[i].mask || a->tests[i].value != b->tests[i].value)
			return false;
	return true;
}

static bool decisions_equal(const struct filter_decision *a, const struct filter_decision *b)
{
	if (a->otherwise != b->otherwise || a->n_rules != b->n_rules)
		return false;
	for (size_t i = 0; i < a->n_rules; i++)
		if (a->rules[i].action != b->rules[i].action || a->rules[i].n_tests != b->rules[i].n_tests ||
			!tests_equal(&a->rules[i], &b->rules[i]))
			return false;
	return true;
}

/* Calls with the same rules (chmod and mkdir, say) share one block. */
static size_t emit_leaf(struct tree *tree, const struct filter_decision *decision)
{
	size_t label;

	if (decision->n_rules == 0)
		return emit_return(&tree->builder, decision->otherwise);
	for (size_t i = 0; i < tree->n_blocks; i++)
		if (decisions_equal(tree->blocks[i].decision, decision))
			return tree->blocks[i].label;
	label = emit_decision(&tree->builder, decision);
	tree->blocks[tree->n_blocks++] = (struct block){decision, label};
	return label;
}

static size_t emit_segments(struct tree *tree, size_t first, size_t end)
{
	size_t middle = first + (end - first) / 2, below, above;

	if (end - first == 1)
		return emit_leaf(tree, tree->segments[first].decision);
	above = emit_segments(tree, middle, end);
	below = emit_segments(tree, first, middle);
	return emit_jump(&tree->builder, BPF_JGE, tree->segments[middle].start, above, below);
}

static void segment_add(struct tree *tree, uint32_t start, const struct filter_decision *decision)
{
	if (tree->n_segments > 0 && decisions_equal(tree->segments[tree->n_segments - 1].decision, decision))
		return;
	tree->segments[tree->n_segments++] = (struct segment){start, decision};
}

/* The head of the program: architecture, then the number, then the tree. */
static void emit_head(struct builder *b, size_t root)
{
	size_t number, kill;

	if (distance(b, root) > 0)
		emit(b, BPF_JMP | BPF_JA, 0, 0, (uint32_t)distance(b, root));
	number = emit_load(b, offsetof(struct seccomp_data, nr));
	kill = emit_return(b, SECCOMP_RET_KILL_PROCESS);
	emit_jump(b, BPF_JEQ, AUDIT_ARCH_X86_64, number, kill);
	emit_load(b, offsetof(struct seccomp_data, arch));
}

static int builder_finish(const struct builder *b, struct arena *arena, struct filter *ret_filter, struct error *err)
{
	struct sock_filter *forward = arena_alloc(arena, b->n * sizeof *forward);

	if (b->full)
		return error_set(err, ERROR_LIMIT, "seccomp", "the filter needs more than %d instructions", BPF_MAXINSNS);
	if (forward == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < b->n; i++)
		forward[i] = b->code[b->n - 1 - i];
	*ret_filter = (struct filter){.instructions = forward, .n = b->n};
	return 0;
}

int filter_compile(const struct filter_plan *plan, struct arena *arena, struct filter *ret_filter, struct error *err)
{
	struct filter_decision beyond = {.otherwise = plan->beyond};
	cleanup_with(arena_freep) struct arena *scratch = NULL;
	struct sock_filter *code;
	struct tree *tree;

	if (arena_new(&scratch, err) < 0)
		return -1;
	tree = arena_alloc(scratch, sizeof *tree);
	code = arena_alloc(scratch, BPF_MAXINSNS * sizeof *code);
	if (tree == NULL || code == NULL)
		return error_no_memory(err);
	tree->builder.code = code;
	for (uint32_t number = 0; number < SYSCALL_NUMBERS; number++)
		segment_add(tree, number, &plan->decisions[number]);
	segment_add(tree, SYSCALL_NUMBERS, &beyond);
	emit_head(&tree->builder, emit_segments(tree, 0, tree->n_segments));
	if (builder_finish(&tree->builder, arena, ret_filter, err) < 0)
		return -1;
	ret_filter->user_namespaces = plan->user_namespaces;
	ret_filter->forbids_start = plan->forbids_start;
	return 0;
}
