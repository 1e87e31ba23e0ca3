/*
 * A machine for classic BPF as far as seccomp allows it, written from the kernel's documentation and knowing nothing of
 * the compiler it judges.
 */
#include "tests/unit/bpf_machine.h"

#include <criterion/criterion.h>
#include <string.h>

static bool is_jump(const struct sock_filter *instruction)
{
	return BPF_CLASS(instruction->code) == BPF_JMP;
}

static void jump_check(const struct filter *filter, size_t at)
{
	const struct sock_filter *instruction = &filter->instructions[at];
	size_t left = filter->n - at - 1;

	if (BPF_OP(instruction->code) == BPF_JA) {
		cr_assert_lt(instruction->k, left, "instruction %zu jumps out", at);
		return;
	}
	cr_assert_lt(instruction->jt, left, "instruction %zu jumps out", at);
	cr_assert_lt(instruction->jf, left, "instruction %zu jumps out", at);
}

static void instruction_check(const struct filter *filter, size_t at)
{
	const struct sock_filter *instruction = &filter->instructions[at];

	if (is_jump(instruction)) {
		jump_check(filter, at);
		return;
	}
	switch (instruction->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		cr_assert_eq(instruction->k % 4, 0, "instruction %zu loads between words", at);
		cr_assert_lt(instruction->k, sizeof(struct seccomp_data), "instruction %zu loads from outside", at);
		break;
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_RET | BPF_K: break;
	default: cr_assert_fail("instruction %zu: code 0x%02x is not expected", at, instruction->code);
	}
}

void bpf_machine_check(const struct filter *filter)
{
	cr_assert_gt(filter->n, 0);
	cr_assert_leq(filter->n, (size_t)BPF_MAXINSNS);
	for (size_t at = 0; at < filter->n; at++)
		instruction_check(filter, at);
	cr_assert_eq(filter->instructions[filter->n - 1].code, BPF_RET | BPF_K, "the last instruction is no return");
}

static size_t jump_length(const struct sock_filter *instruction, uint32_t accumulator)
{
	bool taken = false;

	switch (BPF_OP(instruction->code)) {
	case BPF_JA: return instruction->k;
	case BPF_JEQ: taken = accumulator == instruction->k; break;
	case BPF_JGT: taken = accumulator > instruction->k; break;
	case BPF_JGE: taken = accumulator >= instruction->k; break;
	case BPF_JSET: taken = (accumulator & instruction->k) != 0; break;
	default: cr_assert_fail("jump 0x%02x is not expected", instruction->code);
	}
	return taken ? instruction->jt : instruction->jf;
}

uint32_t bpf_machine_run(const struct filter *filter, const struct seccomp_data *data)
{
	uint32_t accumulator = 0;

	for (size_t at = 0; at < filter->n; at++) {
		const struct sock_filter *instruction = &filter->instructions[at];

		switch (BPF_CLASS(instruction->code)) {
		case BPF_LD: memcpy(&accumulator, (const char *)data + instruction->k, sizeof accumulator); break;
		case BPF_ALU: accumulator &= instruction->k; break;
		case BPF_JMP: at += jump_length(instruction, accumulator); break;
		case BPF_RET: return instruction->k;
		default: cr_assert_fail("instruction 0x%02x is not expected", instruction->code);
		}
	}
	cr_assert_fail("the filter ran past its end");
	return SECCOMP_RET_ALLOW;
}

uint32_t bpf_machine_call(const struct filter *filter, uint32_t number, const uint64_t args[6])
{
	struct seccomp_data data = {.nr = (int)number, .arch = AUDIT_ARCH_X86_64};

	for (size_t i = 0; i < 6; i++)
		data.args[i] = args[i];
	return bpf_machine_run(filter, &data);
}
