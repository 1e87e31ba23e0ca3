/* Giving up privilege. Async-signal-safe. */
#ifndef NS_CAPS_H
#define NS_CAPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Becomes uid and gid of the own user namespace with all capabilities kept; clear_groups: no supplementary groups. */
must_check int caps_become(uid_t uid, gid_t gid, bool clear_groups, struct error *err);
/* No capability in any set, the bounding set included, and no_new_privs. */
must_check int caps_drop_all(struct error *err);

#endif
