/*
 * Who asks, and the names of the facts. Everything here is read without a probe.
 *
 * "Privileged" decides which of two launches is made: as root with the rights to map a uid of its own for each sandbox,
 * or as the caller. uid 0 alone is not enough, for root in a container may lack the capabilities; nor are they alone,
 * for files made by a launch with them would still be the ordinary user's.
 */
#include "runtime/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cgroup/cgroup_probe.h"

#define CPU_SETS      16 /* of 1024 CPUs each */
#define SETGROUPS_MAX 64

static const char *const names[_FACT_COUNT] = {
	[FACT_USER_NAMESPACE] = "user_namespace",
	[FACT_OWN_ID] = "own_id",
	[FACT_MOUNT_NAMESPACE] = "mount_namespace",
	[FACT_PID_NAMESPACE] = "pid_namespace",
	[FACT_PROC_MOUNT] = "proc_mount",
	[FACT_DEVPTS_MOUNT] = "devpts_mount",
	[FACT_IPC_NAMESPACE] = "ipc_namespace",
	[FACT_UTS_NAMESPACE] = "uts_namespace",
	[FACT_CGROUP_NAMESPACE] = "cgroup_namespace",
	[FACT_NET_NAMESPACE] = "net_namespace",
	[FACT_LOOPBACK] = "loopback",
	[FACT_ID_MAP] = "id_map",
	[FACT_IDMAPPED_MOUNT] = "idmapped_mount",
	[FACT_NO_NEW_PRIVS] = "no_new_privs",
	[FACT_SECCOMP_FILTER] = "seccomp_filter",
	[FACT_PIDFD] = "pidfd",
	[FACT_CLOSE_RANGE] = "close_range",
	[FACT_NPROC_PER_NAMESPACE] = "nproc_per_namespace",
	[FACT_LANDLOCK] = "landlock",
	[FACT_CGROUP2] = "cgroup2",
	[FACT_CGROUP_KILL] = "cgroup_kill",
	[FACT_CGROUP_MEMORY] = "cgroup_memory",
	[FACT_CGROUP_SWAP] = "cgroup_swap",
	[FACT_CGROUP_PIDS] = "cgroup_pids",
	[FACT_CGROUP_CPU] = "cgroup_cpu",
};

const char *host_fact_name(enum host_fact fact)
{
	return fact < _FACT_COUNT ? names[fact] : "unknown";
}

unsigned host_landlock_abi(const struct host *host)
{
	const struct fact *fact = &host->facts[FACT_LANDLOCK];
	unsigned abi = 0;

	if (fact->state != FACT_YES || sscanf(fact->detail, LANDLOCK_DETAIL, &abi) != 1)
		return 0;
	return abi;
}

static int read_privileged(bool *ret_privileged, struct error *err)
{
	static const unsigned needed[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	bool privileged = geteuid() == 0;

	if (syscall(SYS_capget, &header, data) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "capget", "cannot read the own capabilities");
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		privileged = privileged && (data[CAP_TO_INDEX(needed[i])].effective & CAP_TO_MASK(needed[i])) != 0;
	*ret_privileged = privileged;
	return 0;
}

/* A kernel without the file has no user namespaces, and nothing that denies it. */
static int read_setgroups(bool *ret_denied, struct error *err)
{
	cleanup_buf struct buf text = {0};
	struct error local = {0};

	if (fd_read_file(AT_FDCWD, "/proc/self/setgroups", SETGROUPS_MAX, &text, &local) < 0 &&
		local.code != ERROR_NOT_FOUND) {
		if (err != NULL)
			*err = local;
		return -1;
	}
	*ret_denied = str_starts_with(buf_str(&text), "deny");
	return 0;
}

static int read_cpus(unsigned *ret_n, struct error *err)
{
	cpu_set_t sets[CPU_SETS];

	if (sched_getaffinity(0, sizeof sets, sets) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "sched_getaffinity", "cannot count the CPUs");
	*ret_n = (unsigned)CPU_COUNT_S(sizeof sets, sets);
	return 0;
}

/* The file has a line for each area below its heading. Where it cannot be read, swap is taken to be there. */
static bool read_swap(void)
{
	cleanup_buf struct buf text = {0};
	struct error unread = {0};
	const char *newline;

	if (fd_read_file(AT_FDCWD, "/proc/swaps", 65536, &text, &unread) < 0)
		return true;
	newline = strchr(buf_str(&text), '\n');
	return newline != NULL && newline[1] != '\0';
}

int host_init(struct host *host, struct error *err)
{
	struct host made = {.uid = geteuid(), .gid = getegid()};
	bool setgroups_denied = false;
	struct utsname kernel;

	if (uname(&kernel) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "uname", "cannot ask for the kernel's name");
	memcpy(made.kernel, kernel.release, strnlen(kernel.release, sizeof made.kernel - 1));
	if (read_privileged(&made.privileged, err) < 0 || read_setgroups(&setgroups_denied, err) < 0 ||
		read_cpus(&made.n_cpus, err) < 0)
		return -1;
	made.privileged = made.privileged && !setgroups_denied;
	made.has_swap = read_swap();
	*host = made;
	return 0;
}

void host_done(struct host *host)
{
	host->cgroup_hold = cgroup_hold_free(host->cgroup_hold);
}
