/*
 * The two steps from a new user namespace's full capabilities to none. All by raw system calls: glibc's set*id wrappers
 * would signal threads that a forked child of a threaded program does not have.
 *
 * Order: the bounding set is dropped while CAP_SETPCAP is still held; no_new_privs comes last of all so that nothing
 * before it depends on it, and before the filter, which needs it.
 */
#include "ns/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"

int caps_become(uid_t uid, gid_t gid, bool clear_groups, struct error *err)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "keepcaps", "capabilities cannot be kept");
	if (clear_groups && sys_setgroups(0, NULL) < 0)
		return error_set_errno(
			err, ERROR_UNENFORCEABLE, errno, "setgroups", "supplementary groups cannot be dropped");
	if (sys_setresgid(gid, gid, gid) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "setresgid", "gid %u", gid);
	if (sys_setresuid(uid, uid, uid) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "setresuid", "uid %u", uid);
	/* What was kept is permitted and no longer effective. */
	if (syscall(SYS_capget, &header, data) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "capget", "capabilities of the user namespace");
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	if (syscall(SYS_capset, &header, data) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "capset", "capabilities of the user namespace");
	return 0;
}

int caps_drop_all(struct error *err)
{
	unsigned bit = 0;

	while (prctl(PR_CAPBSET_DROP, bit, 0, 0, 0) == 0)
		bit++;
	if (errno != EINVAL || bit == 0) /* EINVAL: past the last capability that this kernel knows */
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "capbset", "capability %u", bit);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "ambient capabilities", "cannot be cleared");
	if (sys_capset(0, 0, 0) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "capset", "capabilities cannot be dropped");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set_errno(err, ERROR_UNENFORCEABLE, errno, "no_new_privs", "cannot be set");
	return 0;
}
