/*
 * The refusals that hold under every profile, in files of other makers and whatever a policy allows.
 *
 * Threat: a set-id file made in a workspace. Inside it is worth nothing (no_new_privs, nosuid), but on the host's disk it
 * belongs to the workspace's owner, and any host user who runs it becomes that owner. So no call may carry S_ISUID or
 * S_ISGID: chmod, fchmod, fchmodat, fchmodat2, creat, mkdir, mkdirat, mknod, mknodat, and open and openat where they
 * create. Looked at besides these:
 * - openat2 (its mode is behind a pointer), clone3 (so are its flags), setxattrat, file_setattr: ENOSYS, libraries fall back;
 * - io_uring opens, makes directories and sets attributes without a system call each: ENOSYS;
 * - 32-bit and x32 entries: other architectures are killed, numbers from 512 up and unknown ones are ENOSYS everywhere, so
 *   that no call newer than this table passes below a profile that allows by default;
 * - xattrs: security.capability needs CAP_SETFCAP over the file. The command has none, but would as root of a user
 *   namespace that it made itself: with a workspace mapped to an owner who is root, the host's kernel then stores a
 *   capability valid on the host. The name is behind a pointer, so setting any xattr is refused wherever the filter lets
 *   user namespaces be made;
 * - open_tree_attr, mount_setattr: cannot clear a locked nosuid, and change no file; FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR,
 *   FICLONE: carry no mode; mq_open, shmget, msgget, semget: make nothing that can be executed; bind makes a socket of
 *   the mode fchmod gave it, which is refused; a directory inherits S_ISGID from its parent, a file does not;
 *   copying, linking or renaming a set-id file that is there already makes no new one.
 * A program that wants a set-id mode is told EPERM: `install -m 4755` fails, git and tar of ordinary trees do not.
 *
 * Threat: reaching the init or other processes by their limits and priorities, which need no ptrace right: only pid 0,
 * the caller itself, is let through. A filter cannot know the caller's own number, so that is refused too.
 * Threat: holding memory where the watchdog does not look: in a copy that passes for a vfork child, in a memory file of a
 * thread's own descriptor table, or in a process whose /proc files are closed to the supervisor.
 * Threat: typing into the terminal the sandbox was started from (TIOCSTI, TIOCLINUX). The kernel reads 32 bits of the
 * request, so 32 bits are compared: a value with rubbish in the upper half is the same request.
 * Threat: leaving that terminal in a state in which its other users, pinfold among them, wait for ever when they write
 * (TCOOFF), or find it closed (TIOCEXCL) or dead (TIOCSETD, which loads kernel modules besides).
 * Threat: making others wait. With a lease on a file of the caller's, for which it is enough to read it, whoever opens it
 * for writing on the host is kept for 45 s, and again and again.
 * Threat: address families without a namespace of their own (vsock reaches the hypervisor), or with a kernel attack
 * surface that nobody needs. Netlink only as far as getifaddrs needs it. SOCK_PACKET turns AF_INET into AF_PACKET.
 * Signals are not looked at: the init is the first process of its namespace, which protects it.
 */
#include "seccomp/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include "seccomp/groups.h"

#define SOCKET_TYPE_MASK   0xf /* the rest of the type are flags */
#define NETLINK_PROTOCOL   0   /* NETLINK_ROUTE */
#define OPENS_BY_CREATING  (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define TIOCLINUX_REQUEST  0x541c
#define SOCKET_TYPE_PACKET 10
#define F_SETDELEG_COMMAND 1040 /* as Linux 6.19 names it */

#define ANY_BIT(i, bits)                            \
	{                                           \
		(i), FILTER_NE, (uint64_t)(bits), 0 \
	}
#define FIELD_IS(i, bits, v)                                    \
	{                                                       \
		(i), FILTER_EQ, (uint64_t)(bits), (uint64_t)(v) \
	}
#define INT_IS(i, v)                                           \
	{                                                      \
		(i), FILTER_EQ, FILTER_MASK_INT, (uint64_t)(v) \
	}
#define INT_NOT(i, v)                                          \
	{                                                      \
		(i), FILTER_NE, FILTER_MASK_INT, (uint64_t)(v) \
	}
#define POINTER_GIVEN(i)                           \
	{                                          \
		(i), FILTER_NE, FILTER_MASK_ALL, 0 \
	}
#define SET_ID(i) ANY_BIT(i, S_ISUID | S_ISGID)

const struct overlay_rule overlay_rules[] = {
	{"clone3 openat2 setxattrat file_setattr", ENOSYS, {{0}}, 0, "arguments behind a pointer; libraries fall back"},
	{"io_uring_setup io_uring_enter io_uring_register", ENOSYS, {{0}}, 0, "acts past every filter"},

	{"chmod fchmod creat mkdir mknod", EPERM, {SET_ID(1)}, 1, "a set-id mode"},
	{"fchmodat fchmodat2 mkdirat mknodat", EPERM, {SET_ID(2)}, 1, "a set-id mode"},
	{"open", EPERM, {ANY_BIT(1, OPENS_BY_CREATING), SET_ID(2)}, 2, "creating with a set-id mode"},
	{"openat", EPERM, {ANY_BIT(2, OPENS_BY_CREATING), SET_ID(3)}, 2, "creating with a set-id mode"},
	{"mknod", EPERM, {FIELD_IS(1, S_IFMT, S_IFCHR)}, 1, "a character device"},
	{"mknod", EPERM, {FIELD_IS(1, S_IFMT, S_IFBLK)}, 1, "a block device"},
	{"mknodat", EPERM, {FIELD_IS(2, S_IFMT, S_IFCHR)}, 1, "a character device"},
	{"mknodat", EPERM, {FIELD_IS(2, S_IFMT, S_IFBLK)}, 1, "a block device"},

	{"clone", EPERM, {FIELD_IS(0, CLONE_VM | CLONE_VFORK, CLONE_VFORK)}, 1, "a vfork with memory of its own"},
	{"clone", EPERM, {FIELD_IS(0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD)}, 1,
		"a thread with descriptors of its own"},
	{"close_range", EPERM, {FIELD_IS(2, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_UNSHARE)}, 1,
		"a thread with descriptors of its own"},
	{"mmap", ENOMEM, {FIELD_IS(3, MAP_HUGETLB, MAP_HUGETLB)}, 1, "huge pages, which no process is charged"},
	{"memfd_create", EINVAL, {FIELD_IS(1, MFD_HUGETLB, MFD_HUGETLB)}, 1, "huge pages, which no process is charged"},
	{"shmget", ENOMEM, {FIELD_IS(2, SHM_HUGETLB, SHM_HUGETLB)}, 1, "huge pages, which no process is charged"},
	{"prctl", EPERM, {INT_IS(0, PR_SET_DUMPABLE), INT_NOT(1, 1)}, 2, "PR_SET_DUMPABLE other than 1"},

	{"ioctl", EPERM, {INT_IS(1, TIOCSTI)}, 1, "TIOCSTI: typing into the terminal"},
	{"ioctl", EPERM, {INT_IS(1, TIOCLINUX_REQUEST)}, 1, "TIOCLINUX: pasting into the console"},
	{"ioctl", EPERM, {INT_IS(1, TCXONC), INT_IS(2, TCOOFF)}, 2, "TCOOFF: stopping what others write to the terminal"},
	{"ioctl", EPERM, {INT_IS(1, TIOCEXCL)}, 1, "TIOCEXCL: closing the terminal to others"},
	{"ioctl", EPERM, {INT_IS(1, TIOCSETD)}, 1, "TIOCSETD: another line discipline"},

	{"fcntl", EPERM, {INT_IS(1, F_SETLEASE)}, 1, "a lease: others wait until it is given back"},
	{"fcntl", EPERM, {INT_IS(1, F_SETDELEG_COMMAND)}, 1, "a delegation: others wait until it is given back"},

	{"prlimit64", EPERM, {INT_NOT(0, 0), POINTER_GIVEN(2)}, 2, "new limits by pid; 0, the caller, is allowed"},
	{"setrlimit", EINVAL, {INT_IS(0, RLIMIT_CORE)}, 1, "RLIMIT_CORE: 0 would let a core handler run on the host"},
	{"prlimit64", EINVAL, {INT_IS(1, RLIMIT_CORE), POINTER_GIVEN(2)}, 2,
		"RLIMIT_CORE: 0 would let a core handler run on the host"},
	{"sched_setaffinity sched_setattr sched_setparam sched_setscheduler", EPERM, {INT_NOT(0, 0)}, 1,
		"scheduling by pid; 0, the caller, is allowed"},
	{"setpriority", EPERM, {INT_NOT(0, PRIO_PROCESS)}, 1, "priority of a group or user"},
	{"setpriority", EPERM, {INT_NOT(1, 0)}, 1, "priority by pid; 0, the caller, is allowed"},
	{"ioprio_set", EPERM, {INT_NOT(0, IOPRIO_WHO_PROCESS)}, 1, "I/O priority of a group or user"},
	{"ioprio_set", EPERM, {INT_NOT(1, 0)}, 1, "I/O priority by pid; 0, the caller, is allowed"},

	{"socket", EAFNOSUPPORT, {INT_NOT(0, AF_UNIX), INT_NOT(0, AF_INET), INT_NOT(0, AF_INET6), INT_NOT(0, AF_NETLINK)},
		4, "families other than AF_UNIX, AF_INET, AF_INET6, AF_NETLINK"},
	{"socket", EPROTONOSUPPORT, {INT_IS(0, AF_NETLINK), INT_NOT(2, NETLINK_PROTOCOL)}, 2,
		"netlink other than NETLINK_ROUTE"},
	{"socket", EAFNOSUPPORT, {INT_IS(0, AF_INET), FIELD_IS(1, SOCKET_TYPE_MASK, SOCKET_TYPE_PACKET)}, 2,
		"SOCK_PACKET, which is AF_PACKET"},
	{"socketpair", EAFNOSUPPORT, {INT_NOT(0, AF_UNIX)}, 1, "families other than AF_UNIX"},
};
const size_t overlay_rules_n = sizeof overlay_rules / sizeof *overlay_rules;

const struct overlay_rule overlay_namespace_rules[] = {
	{"setxattr lsetxattr fsetxattr", EOPNOTSUPP, {{0}}, 0,
		"file capabilities, which root of an own namespace may set"},
};
const size_t overlay_namespace_rules_n = sizeof overlay_namespace_rules / sizeof *overlay_namespace_rules;

static bool decision_allows(const struct filter_decision *decision)
{
	for (size_t i = 0; i < decision->n_rules; i++)
		if (filter_action_allows(decision->rules[i].action))
			return true;
	return filter_action_allows(decision->otherwise);
}

static uint32_t action_refused(uint32_t action, int refusal)
{
	return filter_action_ends(action) ? action : FILTER_ERRNO(refusal);
}

static void decision_refuse(struct filter_decision *decision, int refusal)
{
	bool differs = false;

	decision->otherwise = action_refused(decision->otherwise, refusal);
	for (size_t i = 0; i < decision->n_rules; i++) {
		decision->rules[i].action = action_refused(decision->rules[i].action, refusal);
		differs = differs || decision->rules[i].action != decision->otherwise;
	}
	if (!differs)
		decision->n_rules = 0;
}

static void decision_refuse_where(
	struct filter_decision *decision, const struct overlay_rule *overlay, struct arena *arena)
{
	size_t n = decision->n_rules + 1;
	struct filter_rule *rules = arena_alloc(arena, n * sizeof *rules);

	if (rules == NULL)
		return; /* arena_check tells at the end */
	rules[0] = (struct filter_rule){overlay->tests, overlay->n_tests, FILTER_ERRNO(overlay->refusal)};
	if (decision->n_rules > 0)
		memcpy(rules + 1, decision->rules, decision->n_rules * sizeof *rules);
	decision->rules = rules;
	decision->n_rules = n;
}

static int rule_lay(const struct overlay_rule *overlay, struct filter_plan *plan, struct arena *arena, struct error *err)
{
	const char *names = overlay->names;
	char name[SYSCALL_NAME_SIZE];

	while (syscall_group_next(&names, name) > 0) {
		int number = syscall_number(name);
		struct filter_decision *decision;

		if (number < 0 || number >= SYSCALL_NUMBERS)
			return error_set(err, ERROR_INTERNAL, "seccomp", "no number for %s", name);
		decision = &plan->decisions[number];
		if (overlay->n_tests == 0)
			decision_refuse(decision, overlay->refusal);
		else if (decision_allows(decision))
			decision_refuse_where(decision, overlay, arena);
	}
	return 0;
}

/* From the last to the first: each is put in front of what is there, so that they stand in the table's order. */
static int rules_lay(
	const struct overlay_rule *overlays, size_t n, struct filter_plan *plan, struct arena *arena, struct error *err)
{
	while (n-- > 0)
		if (rule_lay(&overlays[n], plan, arena, err) < 0)
			return -1;
	return 0;
}

/* Calls without a name here are newer than the refusals above, which cannot speak of them. */
static void unknown_refuse(struct filter_plan *plan)
{
	for (unsigned number = 0; number < SYSCALL_NUMBERS; number++)
		if (syscall_name(number) == NULL)
			decision_refuse(&plan->decisions[number], ENOSYS);
	plan->beyond = action_refused(plan->beyond, ENOSYS);
}

/* The rule holds for every call that has the bit, whatever else it has. */
static bool rule_covers_bit(const struct filter_rule *rule, uint64_t bit)
{
	const struct filter_test *test = rule->tests;

	if (rule->n_tests == 0)
		return true;
	return rule->n_tests == 1 && test->arg == 0 && test->op == FILTER_NE && test->value == 0 &&
		(test->mask & bit) != 0;
}

/* The rule holds for no call that has the bit. */
static bool rule_excludes_bit(const struct filter_rule *rule, uint64_t bit)
{
	for (size_t i = 0; i < rule->n_tests; i++) {
		const struct filter_test *test = &rule->tests[i];

		if (test->arg == 0 && test->op == FILTER_EQ && (test->mask & bit) != 0 && (test->value & bit) == 0)
			return true;
	}
	return false;
}

static bool clone_allows_bit(const struct filter_decision *decision, uint64_t bit)
{
	for (size_t i = 0; i < decision->n_rules; i++) {
		const struct filter_rule *rule = &decision->rules[i];

		if (!filter_action_allows(rule->action) && rule_covers_bit(rule, bit))
			return false;
		if (filter_action_allows(rule->action) && !rule_excludes_bit(rule, bit))
			return true;
	}
	return filter_action_allows(decision->otherwise);
}

/* Errs on the side of yes. */
static bool plan_allows_user_namespaces(const struct filter_plan *plan)
{
	return decision_allows(&plan->decisions[SYS_unshare]) ||
		clone_allows_bit(&plan->decisions[SYS_clone], CLONE_NEWUSER);
}

int overlay_apply(struct filter_plan *plan, struct arena *arena, struct error *err)
{
	if (rules_lay(overlay_rules, overlay_rules_n, plan, arena, err) < 0)
		return -1;
	plan->user_namespaces = plan_allows_user_namespaces(plan);
	plan->forbids_start = !decision_allows(&plan->decisions[SYS_execve]);
	if (plan->user_namespaces && rules_lay(overlay_namespace_rules, overlay_namespace_rules_n, plan, arena, err) < 0)
		return -1;
	unknown_refuse(plan);
	return arena_check(arena, err);
}
