/* User namespaces with one uid and one gid mapped. */
#ifndef NS_IDMAP_H
#define NS_IDMAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct idmap {
	uid_t inner_uid, outer_uid;
	gid_t inner_gid, outer_gid;
	bool deny_setgroups; /* demanded by the kernel of a caller without CAP_SETGID (user_namespaces(7)) */
};

/* Writes the maps of process `pid`, a child of the caller in a new user namespace. */
must_check int idmap_write(pid_t pid, const struct idmap *map, struct error *err);
/* A user namespace with this map that no process is in, for id-mapped mounts: inner is what is on the disk, outer what
 * is shown. Returns its fd. Safe in a threaded process. */
must_check int idmap_namespace(const struct idmap *map, struct error *err);

#endif
