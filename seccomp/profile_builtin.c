/*
 * The built-in profiles: the groups of groups.c, and rules on the arguments of two calls.
 *
 * Both profiles are one list read to different depths: ":strict" takes the groups for programs that compute on files
 * and talk through pipes, ":default" also those for sockets, watches, attributes and message passing. What a group is
 * not allowed in answers with the group's errno; numbers without a name answer ENOSYS.
 */
#include "seccomp/profile_builtin.h"

#include <errno.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "seccomp/groups.h"

/* CLONE_NEWTIME is no flag of clone: the bit belongs to the exit signal there. */
#define CLONE_NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
/* A 32-bit uname, an old version number, no randomized addresses: the caller's own affair. setarch and sanitizers ask. */
#define PERSONALITY_HARMLESS (PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE)
#define PERSONALITY_QUERY    UINT32_MAX

const char *const filter_profile_names[] = {":default", ":strict", NULL};

static const struct filter_test clone_with_namespaces = {0, FILTER_NE, CLONE_NAMESPACES, 0};
static const struct filter_test personality_harmless = {
	0, FILTER_EQ, FILTER_MASK_INT & ~(uint64_t)PERSONALITY_HARMLESS, 0};
static const struct filter_test personality_query = {0, FILTER_EQ, FILTER_MASK_INT, PERSONALITY_QUERY};

static void decision_add(
	struct filter_decision *decision, const struct filter_test *test, uint32_t action, struct arena *arena)
{
	struct filter_rule *rule = arena_push(arena, &decision->rules, &decision->n_rules);

	if (rule != NULL)
		*rule = (struct filter_rule){test, 1, action};
}

/* In the order of filter_profile_names. */
static const enum group_access profile_depths[] = {GROUP_DEFAULT, GROUP_STRICT};

static int profile_find(const char *profile, enum group_access *ret_depth, struct error *err)
{
	const char *nearest = str_nearest(profile, filter_profile_names);
	char printable[80];

	for (size_t i = 0; filter_profile_names[i] != NULL; i++)
		if (str_equal(profile, filter_profile_names[i])) {
			*ret_depth = profile_depths[i];
			return 0;
		}
	error_set(err, ERROR_POLICY_INVALID, "seccomp", "no built-in system call profile \"%s\"",
		str_printable(profile, printable, sizeof printable));
	if (nearest != NULL)
		error_set_fix(err, "did you mean \"%s\"?", nearest);
	return -1;
}

static void personality_restrict(struct filter_decision *decision, struct arena *arena)
{
	filter_decision_set(decision, FILTER_ERRNO(EPERM));
	decision_add(decision, &personality_harmless, SECCOMP_RET_ALLOW, arena);
	decision_add(decision, &personality_query, SECCOMP_RET_ALLOW, arena);
}

int profile_builtin_read(const char *profile, struct filter_plan *plan, struct arena *arena, struct error *err)
{
	enum group_access depth;

	if (profile_find(profile, &depth, err) < 0)
		return -1;
	plan->beyond = FILTER_ERRNO(ENOSYS);
	for (size_t number = 0; number < SYSCALL_NUMBERS; number++)
		filter_decision_set(&plan->decisions[number], FILTER_ERRNO(ENOSYS));
	for (size_t i = 0; i < syscall_groups_n; i++) {
		const struct syscall_group *group = &syscall_groups[i];
		bool allowed = group->access <= depth;

		filter_plan_set_group(plan, group, allowed ? SECCOMP_RET_ALLOW : FILTER_ERRNO(group->refusal));
	}
	decision_add(&plan->decisions[SYS_clone], &clone_with_namespaces, FILTER_ERRNO(EPERM), arena);
	if (depth >= GROUP_DEFAULT)
		personality_restrict(&plan->decisions[SYS_personality], arena);
	return arena_check(arena, err);
}
