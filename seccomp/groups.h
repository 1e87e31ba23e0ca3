/* Every system call that pinfold knows, in groups: which profile allows it, and how it is refused where none does. */
#ifndef SECCOMP_GROUPS_H
#define SECCOMP_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/* Where a group is allowed. */
enum group_access {
	GROUP_STRICT,  /* under :strict and :default */
	GROUP_DEFAULT, /* under :default */
	GROUP_NESTED,  /* only where nested namespaces are asked */
	GROUP_NEVER,
	_GROUP_ACCESS_COUNT
};

struct syscall_group {
	const char *title; /* for people, and the row's name in the documentation */
	enum group_access access;
	int refusal;       /* errno under the built-in profiles that do not allow it */
	const char *names; /* separated by single spaces */
};

/* Each call is in exactly one group. */
extern const struct syscall_group syscall_groups[];
extern const size_t syscall_groups_n;

/* Cuts the next name from *names into `name`; its length, or 0 at the end. A name longer than size - 1 is no name. */
#define SYSCALL_NAME_SIZE 40
size_t syscall_group_next(const char **names, char name[SYSCALL_NAME_SIZE]);

#endif
