/*
 * What a filter decides, as data: for each system call the rules on its arguments in their order, and what happens
 * where none of them holds. Pure; filter_compile turns it into instructions.
 */
#ifndef SECCOMP_FILTER_PLAN_H
#define SECCOMP_FILTER_PLAN_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/error.h"
#include "seccomp/filter.h"
#include "seccomp/groups.h"
#include "seccomp/syscalls.h"

enum filter_op {
	FILTER_EQ,
	FILTER_NE,
	FILTER_LT,
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	_FILTER_OP_COUNT
};

#define FILTER_MASK_ALL UINT64_MAX
#define FILTER_MASK_INT UINT32_MAX /* the kernel looks at the low half only, and so must the filter */
#define FILTER_ARGS     6

/* Holds where (argument & mask) OP value, unsigned. */
struct filter_test {
	unsigned arg;
	enum filter_op op;
	uint64_t mask, value;
};

/* Decides where every test holds. */
struct filter_rule {
	const struct filter_test *tests;
	size_t n_tests;
	uint32_t action; /* SECCOMP_RET_* with its data */
};

struct filter_decision {
	struct filter_rule *rules; /* the first one that holds decides */
	size_t n_rules;
	uint32_t otherwise;
};

struct filter_plan {
	struct filter_decision decisions[SYSCALL_NUMBERS];
	uint32_t beyond;      /* numbers from SYSCALL_NUMBERS up, those of x32 among them */
	bool user_namespaces; /* of a finished plan, as in struct filter */
	bool forbids_start;
};

#define FILTER_ERRNO(number) (SECCOMP_RET_ERRNO | ((uint32_t)(number)&SECCOMP_RET_DATA))

/* Calls with such an answer reach the kernel. */
bool filter_action_allows(uint32_t action);
/* Calls with such an answer end the caller, or are told to it by a signal. */
bool filter_action_ends(uint32_t action);
/* What the plan answers: the meaning that compiled filters must have. */
uint32_t filter_plan_decide(const struct filter_plan *plan, uint32_t number, const uint64_t args[FILTER_ARGS]);

/* The finished decisions of a request, in `arena`: its profile, its wishes, the refusals of overlay.h. */
must_check int filter_plan_new(const struct filter_request *request, struct arena *arena,
	const struct filter_plan **ret_plan, struct diag *diag, struct error *err);

/* For those who make plans: one action whatever the arguments are, for a call and for a whole group. */
void filter_decision_set(struct filter_decision *decision, uint32_t action);
void filter_plan_set_group(struct filter_plan *plan, const struct syscall_group *group, uint32_t action);

#endif
