/* The refusals that no profile and no policy can lift. */
#ifndef SECCOMP_OVERLAY_H
#define SECCOMP_OVERLAY_H

#include "seccomp/filter_plan.h"

#define OVERLAY_TESTS_MAX 4

struct overlay_rule {
	const char *names; /* separated by single spaces */
	int refusal;       /* errno */
	struct filter_test tests[OVERLAY_TESTS_MAX];
	size_t n_tests;   /* 0: whatever the arguments are */
	const char *what; /* for people: the arguments meant, and why */
};

extern const struct overlay_rule overlay_rules[];
extern const size_t overlay_rules_n;
/* Added where a filter lets the command make user namespaces. */
extern const struct overlay_rule overlay_namespace_rules[];
extern const size_t overlay_namespace_rules_n;

/* Lays the refusals over a finished plan. Answers that end the process are kept: they are no weaker. */
must_check int overlay_apply(struct filter_plan *plan, struct arena *arena, struct error *err);

#endif
