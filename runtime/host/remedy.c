/*
 * The remedy for each lack. A table read from the top: the first row that fits what was refused, the kernel's word and the
 * obstacle that was found is the answer; more particular rows come first, and a lack for which no row fits has none.
 *
 * Pure: it looks at nothing but the host it is asked about, so a fake host gets the remedies of the real one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/host/host.h"
#include "runtime/host/obstacle.h"

#define ANY_ERRNO 0

struct remedy {
	enum host_fact first, last;
	int sys_errno;          /* ANY_ERRNO: whatever the kernel said */
	enum obstacle obstacle; /* OBSTACLE_NONE: whatever stands there */
	const char *step;       /* NULL: wherever it failed */
	const char *text;
};

#define ALL_NAMESPACES FACT_USER_NAMESPACE, FACT_LOOPBACK
#define ALL_KERNEL     FACT_USER_NAMESPACE, FACT_LANDLOCK
#define CONTROLLERS    FACT_CGROUP_MEMORY, FACT_CGROUP_CPU
#define ONE(fact)      fact, fact

static const struct remedy remedies[] = {
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_USER_NAMESPACES, NULL, "set sysctl user.max_user_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_MNT_NAMESPACES, NULL, "set sysctl user.max_mnt_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_PID_NAMESPACES, NULL, "set sysctl user.max_pid_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_IPC_NAMESPACES, NULL, "set sysctl user.max_ipc_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_UTS_NAMESPACES, NULL, "set sysctl user.max_uts_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_CGROUP_NAMESPACES, NULL, "set sysctl user.max_cgroup_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_MAX_NET_NAMESPACES, NULL, "set sysctl user.max_net_namespaces above 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_USERNS_CLONE, NULL,
		"set sysctl kernel.unprivileged_userns_clone to 1, or start pinfold as root"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_APPARMOR_USERNS, NULL,
		"give pinfold an AppArmor profile with the line \"userns,\", or set sysctl "
		"kernel.apparmor_restrict_unprivileged_userns to 0"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_PROC_COVERED, NULL,
		"start the container with all of /proc visible: --security-opt systempaths=unconfined (docker), "
		"--security-opt unmask=ALL (podman), --unshare-user and not as root (bubblewrap)"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_OUTER_FILTER, NULL,
		"let the outer seccomp filter pass clone3, mount and their like; for a container: "
		"--security-opt seccomp=unconfined"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_APPARMOR_PROFILE, NULL,
		"let the AppArmor profile allow userns and mount; for a container: --security-opt apparmor=unconfined"},
	{ALL_KERNEL, ANY_ERRNO, OBSTACLE_SELINUX, NULL,
		"let the SELinux domain create user namespaces and mount; for a container: --security-opt label=disable"},
	{ONE(FACT_USER_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL,
		"raise sysctl user.max_user_namespaces, here and in the user namespaces around"},
	{ONE(FACT_MOUNT_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_mnt_namespaces"},
	{ONE(FACT_PID_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_pid_namespaces"},
	{ONE(FACT_IPC_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_ipc_namespaces"},
	{ONE(FACT_UTS_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_uts_namespaces"},
	{ONE(FACT_CGROUP_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_cgroup_namespaces"},
	{ONE(FACT_NET_NAMESPACE), ENOSPC, OBSTACLE_NONE, NULL, "raise sysctl user.max_net_namespaces"},
	{ALL_NAMESPACES, ENOSPC, OBSTACLE_NONE, NULL,
		"raise the sysctls user.max_mnt_namespaces and user.max_pid_namespaces, here and in the user namespaces around"},
	{ONE(FACT_USER_NAMESPACE), EUSERS, OBSTACLE_NONE, NULL, "start pinfold outside of so many user namespaces"},
	{ALL_NAMESPACES, ENOSYS, OBSTACLE_NONE, NULL, "use Linux 5.12 or later"},
	{ALL_NAMESPACES, EINVAL, OBSTACLE_NONE, "mount_setattr",
		"make the root directory a mount point: do not start pinfold in a plain chroot"},
	{FACT_USER_NAMESPACE, FACT_OWN_ID, EPERM, OBSTACLE_NONE, "uid_map",
		"leave root its capabilities, CAP_SETFCAP among them, or start pinfold as an ordinary user"},
	{FACT_USER_NAMESPACE, FACT_OWN_ID, EACCES, OBSTACLE_NONE, NULL,
		"let the security module around pinfold (AppArmor, SELinux, Landlock) allow user namespaces and the writing "
		"of their id maps"},
	{ONE(FACT_USER_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_USER_NS"},
	{ONE(FACT_PID_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_PID_NS"},
	{ONE(FACT_IPC_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_IPC_NS"},
	{ONE(FACT_UTS_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_UTS_NS"},
	{ONE(FACT_CGROUP_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_CGROUPS"},
	{ONE(FACT_NET_NAMESPACE), EINVAL, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_NET_NS"},
	{ONE(FACT_DEVPTS_MOUNT), ENODEV, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_UNIX98_PTYS"},
	{ONE(FACT_PROC_MOUNT), EPERM, OBSTACLE_NONE, NULL,
		"have a whole proc mounted on /proc, with nothing over any part of it"},
	{ALL_NAMESPACES, ANY_ERRNO, OBSTACLE_NONE, NULL,
		"start pinfold outside of a chroot, and of a container that forbids user namespaces or mounts in them"},
	{ONE(FACT_ID_MAP), ANY_ERRNO, OBSTACLE_NONE, NULL,
		"start pinfold as root with CAP_SETUID and CAP_SETGID, where the uids from PINFOLD_UID_BASE on are mapped"},
	{ONE(FACT_IDMAPPED_MOUNT), EINVAL, OBSTACLE_NONE, "id-mapped mount",
		"put the workspace on a file system that can be id-mapped (ext4, xfs, btrfs; tmpfs from Linux 6.3 on), "
		"or set process.identity to \"caller\""},
	{ONE(FACT_IDMAPPED_MOUNT), ENOSYS, OBSTACLE_NONE, NULL,
		"use Linux 5.12 or later, or set process.identity to \"caller\""},
	{ONE(FACT_IDMAPPED_MOUNT), ANY_ERRNO, OBSTACLE_NONE, NULL, "start pinfold as root with CAP_SYS_ADMIN"},
	{ONE(FACT_NPROC_PER_NAMESPACE), ANY_ERRNO, OBSTACLE_NONE, NULL,
		"use Linux 5.14 or later; as root, uids must be mappable"},
	{ONE(FACT_SECCOMP_FILTER), ANY_ERRNO, OBSTACLE_NONE, NULL, "use a kernel with CONFIG_SECCOMP_FILTER"},
	{ONE(FACT_LANDLOCK), EOPNOTSUPP, OBSTACLE_NONE, NULL,
		"add landlock to the lsm= list of the kernel's command line"},
	{ONE(FACT_LANDLOCK), ENOSYS, OBSTACLE_NONE, NULL, "use Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK"},
	{ONE(FACT_PIDFD), ENOSYS, OBSTACLE_NONE, NULL, "use Linux 5.12 or later"},
	{ONE(FACT_CLOSE_RANGE), ENOSYS, OBSTACLE_NONE, NULL, "use Linux 5.12 or later"},
	{ONE(FACT_CGROUP_SWAP), ENOENT, OBSTACLE_NONE, "memory.swap.max",
		"use a kernel with CONFIG_SWAP, without swapaccount=0"},
	{CONTROLLERS, ANY_ERRNO, OBSTACLE_NONE, "systemd scope",
		"have your service manager run: a login of its own, or loginctl enable-linger USER; without a login set "
		"XDG_RUNTIME_DIR to /run/user/UID"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, ANY_ERRNO, OBSTACLE_NONE, "cgroup owner",
		"start pinfold as that user, or name a cgroup of root's in PINFOLD_CGROUP"},
	{CONTROLLERS, ANY_ERRNO, OBSTACLE_NONE, "delegation",
		"set Delegate=yes in the unit, or start pinfold by systemd-run --scope -p Delegate=yes (with --user as an "
		"ordinary user)"},
	{ONE(FACT_CGROUP_KILL), ENOENT, OBSTACLE_NONE, "cgroup.kill", "use Linux 5.14 or later"},
	{CONTROLLERS, ANY_ERRNO, OBSTACLE_NONE, "cgroup.controllers",
		"boot with cgroup version 2 alone: systemd.unified_cgroup_hierarchy=1 on the kernel's command line; under "
		"a service manager, have it delegate the controller (Delegate=yes)"},
	{CONTROLLERS, ANY_ERRNO, OBSTACLE_NONE, "cgroup.subtree_control",
		"name in PINFOLD_CGROUP an empty cgroup of your own whose cgroup.subtree_control has memory, pids and cpu; "
		"under systemd: Delegate=yes"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, EROFS, OBSTACLE_NONE, NULL,
		"mount the cgroup file system writable; for a container: --cgroupns=private and a writable /sys/fs/cgroup"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, EACCES, OBSTACLE_NONE, NULL,
		"have a cgroup delegated (systemd: Delegate=yes, for instance systemd-run --user --scope -p Delegate=yes), "
		"or name one of your own in PINFOLD_CGROUP"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, EPERM, OBSTACLE_NONE, NULL,
		"have a cgroup delegated (systemd: Delegate=yes), or name one of your own in PINFOLD_CGROUP"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, ANY_ERRNO, OBSTACLE_NONE, "find cgroup",
		"mount a cgroup version 2 file system, or name a directory of one in PINFOLD_CGROUP"},
	{FACT_CGROUP2, FACT_CGROUP_CPU, ANY_ERRNO, OBSTACLE_NONE, "open cgroup",
		"name in PINFOLD_CGROUP the absolute path, without symlinks, of a cgroup version 2 directory"},
};

static bool fits(const struct remedy *remedy, enum host_fact which, const struct fact *fact)
{
	return which >= remedy->first && which <= remedy->last &&
		(remedy->sys_errno == ANY_ERRNO || remedy->sys_errno == fact->sys_errno) &&
		(remedy->obstacle == OBSTACLE_NONE || remedy->obstacle == obstacle_of(fact->detail)) &&
		(remedy->step == NULL || strcmp(remedy->step, fact->step) == 0);
}

/* Without a user namespace none of the others was tried: what mends it comes first. */
static enum host_fact root_cause(const struct host *host, enum host_fact which)
{
	bool depends = which <= FACT_IDMAPPED_MOUNT || which == FACT_NPROC_PER_NAMESPACE;

	return depends && host->facts[FACT_USER_NAMESPACE].state == FACT_NO ? FACT_USER_NAMESPACE : which;
}

const char *host_fact_remedy(const struct host *host, enum host_fact fact, char *buf, size_t size)
{
	enum host_fact which = root_cause(host, fact);
	const struct fact *lack = &host->facts[which];

	buf[0] = '\0';
	for (size_t i = 0; lack->state == FACT_NO && i < sizeof remedies / sizeof *remedies; i++) {
		if (!fits(&remedies[i], which, lack))
			continue;
		(void)snprintf(buf, size, "%s", remedies[i].text);
		break;
	}
	return buf;
}
