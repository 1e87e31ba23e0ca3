/* Working on the caller's files with no more rights than their owner has, where the caller is root. */
#ifndef SUPERVISE_RIGHTS_H
#define SUPERVISE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "runtime/plan/plan.h"

/* What the calling thread had before. */
struct rights {
	bool narrowed;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t n_groups;
	uint64_t permitted, effective, inheritable;
};

/* The calling thread, and it alone, looks at files as uid and gid: no supplementary group, no capability in effect.
 * On failure it is as it was. */
must_check int rights_narrow(uid_t uid, gid_t gid, struct rights *ret_rights, struct error *err);
/* The same as the owner of the plan's workspace; nothing where the run has the caller's own identity. */
must_check int rights_narrow_for(const struct plan *plan, struct rights *ret_rights, struct error *err);
/* Back to what it was. Only a kernel that breaks its word fails here; the thread must not go on then. No-op on a zeroed
 * struct. */
must_check int rights_widen(struct rights *rights, struct error *err);

#endif
