/* A throw-away child in new namespaces that tries steps one after the other and says which of them work. */
#ifndef NS_TRIAL_H
#define NS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define TRIAL_STEPS_MAX  12
#define TRIAL_TIMEOUT_NS 10000000000ull

struct trial_finding {
	bool works;
	int sys_errno; /* the kernel's word where it does not work, 0 where none */
	char step[64]; /* what failed; "" where it works */
};

/* 0 where it works. In the child: async-signal-safe, no allocation, no lock. A step may rely on those before it. */
typedef int (*trial_step)(void *userdata, struct error *err);

/* Ids inside; outside they are the caller's own, or, mapped, uid_base + the child's pid. */
struct trial_identity {
	uid_t uid;
	gid_t gid;
	bool mapped;
	bool privileged; /* the caller may write maps and drop groups */
	uid_t uid_base;
};

struct trial {
	uint64_t namespaces;                   /* CLONE_NEW*; with CLONE_NEWUSER the child becomes the identity */
	const char *clone_step;                /* what to call the clone itself where it fails */
	const struct trial_identity *identity; /* NULL without CLONE_NEWUSER */
	bool become_later;                     /* the steps do it themselves, by trial_become */
	const trial_step *steps;
	size_t n_steps;
	void *userdata;
	uint64_t timeout_ns;
};

/* Fills findings[n_steps]. A child that is stuck is killed at the time limit, one that is killed by somebody else is a
 * finding too. A lack of memory, processes or descriptors is an error. Nothing is left. Safe in a threaded process. */
must_check int trial_run(const struct trial *trial, struct trial_finding *ret_findings, struct error *err);
/* In the child: becomes the identity with all capabilities of its namespace. */
must_check int trial_become(const struct trial_identity *identity, struct error *err);

#endif
