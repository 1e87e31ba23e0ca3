/*
 * The rights of a files' owner, for a while.
 *
 * Threat: a command that may rename a directory with another user's files in it can move them under a guarded name. If
 * root removed that with root's rights, the command would have made root delete what it could not touch itself. So
 * removal is done as the owner of the workspace.
 *
 * Only the calling thread changes, by raw system calls: the program around this library may have others, and glibc
 * would change them all. The real and effective ids stay, so nobody else gets a right over this process meanwhile. All
 * that is needed to come back stays permitted, just not effective.
 *
 * Order: groups and ids while the capabilities for it are in effect, then these; back in the opposite order.
 */
#include "runtime/supervise/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"

#define NO_ID ((unsigned)-1) /* set*id of it changes nothing and says what is */

static int set_uid(uid_t uid)
{
	(void)syscall(SYS_setfsuid, uid);
	errno = EPERM;
	return (uid_t)syscall(SYS_setfsuid, NO_ID) == uid ? 0 : -1;
}

static int set_gid(gid_t gid)
{
	(void)syscall(SYS_setfsgid, gid);
	errno = EPERM;
	return (gid_t)syscall(SYS_setfsgid, NO_ID) == gid ? 0 : -1;
}

static int remember_groups(struct rights *rights)
{
	int n = getgroups(0, NULL);

	if (n <= 0)
		return n;
	rights->groups = calloc((size_t)n, sizeof *rights->groups);
	if (rights->groups == NULL)
		return -1;
	n = getgroups(n, rights->groups);
	if (n < 0)
		return -1;
	rights->n_groups = (size_t)n;
	return 0;
}

static int remember(struct rights *rights)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0 || remember_groups(rights) < 0)
		return -1;
	rights->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	rights->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	rights->inheritable = (uint64_t)data[1].inheritable << 32 | data[0].inheritable;
	rights->uid = (uid_t)syscall(SYS_setfsuid, NO_ID);
	rights->gid = (gid_t)syscall(SYS_setfsgid, NO_ID);
	return 0;
}

static int narrow(const struct rights *rights, uid_t uid, gid_t gid)
{
	if (rights->n_groups > 0 && sys_setgroups(0, NULL) < 0)
		return -1;
	if (set_gid(gid) < 0 || set_uid(uid) < 0)
		return -1;
	return sys_capset(rights->permitted, 0, rights->inheritable);
}

/* The kernel takes the capabilities over files out of effect, and puts them back, when the uid goes from 0 and to it:
 * so they are set once more at the end. */
static int widen(const struct rights *rights)
{
	if (sys_capset(rights->permitted, rights->effective, rights->inheritable) < 0)
		return -1;
	if (set_uid(rights->uid) < 0 || set_gid(rights->gid) < 0)
		return -1;
	if (rights->n_groups > 0 && sys_setgroups(rights->n_groups, rights->groups) < 0)
		return -1;
	return sys_capset(rights->permitted, rights->effective, rights->inheritable);
}

int rights_narrow(uid_t uid, gid_t gid, struct rights *ret_rights, struct error *err)
{
	struct rights rights = {0};
	struct error lost = {0};

	rights.narrowed = remember(&rights) == 0;
	if (rights.narrowed && narrow(&rights, uid, gid) == 0) {
		*ret_rights = rights;
		return 0;
	}
	(void)error_set_errno(err, ERROR_UNENFORCEABLE, errno, "rights", "cannot work as uid %u", uid);
	if (rights_widen(&rights, &lost) < 0)
		(void)error_prefix(err, "%s", lost.text); /* fewer rights than before, never more */
	return -1;
}

int rights_narrow_for(const struct plan *plan, struct rights *ret_rights, struct error *err)
{
	const struct plan_identity *identity = &plan->identity;

	if (geteuid() != 0 || !identity->mapped)
		return 0;
	return rights_narrow(identity->workspace_uid, identity->workspace_gid, ret_rights, err);
}

int rights_widen(struct rights *rights, struct error *err)
{
	int r = rights->narrowed ? widen(rights) : 0;
	int sys_errno = errno;

	free(rights->groups);
	*rights = (struct rights){0};
	if (r < 0)
		return error_set_errno(
			err, ERROR_INTERNAL, sys_errno, "rights", "the caller's own rights are not to be had back");
	return 0;
}
