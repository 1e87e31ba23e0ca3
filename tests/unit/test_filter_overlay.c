/* The refusals that hold over every profile: each is tried, under each. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "seccomp/builtin.h"
#include "seccomp/groups.h"
#include "seccomp/overlay.h"
#include "tests/unit/bpf_machine.h"
#include "tests/unit/filter_fixture.h"
#include "tests/unit/harness.h"

TestSuite(filter_overlay, .fini = harness_leak_check);

static const uint64_t no_args[6];

struct attempt {
	const char *name;
	uint64_t args[6];
	int refusal; /* 0: must not be refused by a profile that allows everything */
};

#define RUBBISH 0xdeadbeef00000000

static const struct attempt attempts[] = {
	{"chmod", {1, 04755}, EPERM},
	{"chmod", {1, 02755}, EPERM},
	{"chmod", {1, RUBBISH | 06000}, EPERM},
	{"chmod", {1, 01777}, 0},
	{"chmod", {1, 0755}, 0},
	{"fchmod", {3, 04755}, EPERM},
	{"fchmod", {3, 0100644}, 0},
	{"fchmodat", {3, 1, 04755}, EPERM},
	{"fchmodat", {3, 1, 0755}, 0},
	{"fchmodat2", {3, 1, 02755, 0x100}, EPERM},
	{"fchmodat2", {3, 1, 0755, 0x100}, 0},
	{"creat", {1, 04644}, EPERM},
	{"creat", {1, 0644}, 0},
	{"mkdir", {1, 02755}, EPERM},
	{"mkdir", {1, 0777}, 0},
	{"mkdirat", {3, 1, 02755}, EPERM},
	{"mkdirat", {3, 1, 01777}, 0},
	{"mknod", {1, S_IFREG | 04755}, EPERM},
	{"mknod", {1, S_IFCHR | 0600, 0x103}, EPERM},
	{"mknod", {1, S_IFBLK | 0600, 0x801}, EPERM},
	{"mknod", {1, S_IFIFO | 0600}, 0},
	{"mknod", {1, S_IFSOCK | 0600}, 0},
	{"mknodat", {3, 1, S_IFREG | 02755}, EPERM},
	{"mknodat", {3, 1, S_IFCHR | 0600, 0x103}, EPERM},
	{"mknodat", {3, 1, RUBBISH | S_IFBLK | 0600, 0x801}, EPERM},
	{"mknodat", {3, 1, S_IFREG | 0600}, 0},
	{"open", {1, O_CREAT | O_WRONLY, 04755}, EPERM},
	{"open", {1, RUBBISH | O_CREAT, RUBBISH | 02000}, EPERM},
	{"open", {1, O_TMPFILE | O_RDWR, 04755}, EPERM},
	{"open", {1, O_CREAT | O_WRONLY, 0666}, 0},
	{"open", {1, O_RDONLY, 0x7ffe0c00}, 0}, /* no mode is given: whatever the register holds */
	{"open", {1, O_RDONLY | O_DIRECTORY, 04000}, 0},
	{"openat", {3, 1, O_CREAT | O_EXCL, 02644}, EPERM},
	{"openat", {3, 1, O_TMPFILE | O_WRONLY, 02644}, EPERM},
	{"openat", {3, 1, O_CREAT, 0644}, 0},
	{"openat", {3, 1, O_PATH, 06000}, 0},
	{"openat2", {3, 1, 1, 24}, ENOSYS},
	{"clone3", {1, 88}, ENOSYS},
	{"setxattrat", {0}, ENOSYS},
	{"file_setattr", {0}, ENOSYS},
	{"io_uring_setup", {4, 1}, ENOSYS},
	{"io_uring_enter", {3}, ENOSYS},
	{"io_uring_register", {3}, ENOSYS},
	{"ioctl", {0, 0x5412, 1}, EPERM},
	{"ioctl", {0, 0x100005412, 1}, EPERM},
	{"ioctl", {0, 0xffffffff00005412, 1}, EPERM},
	{"ioctl", {0, 0x541c, 1}, EPERM},
	{"ioctl", {0, 0x10000541c, 1}, EPERM},
	{"ioctl", {0, RUBBISH | 0x5423, 1}, EPERM}, /* TIOCSETD */
	{"ioctl", {0, RUBBISH | 0x540c}, EPERM},    /* TIOCEXCL */
	{"ioctl", {0, RUBBISH | 0x540a, 0}, EPERM}, /* TCXONC: TCOOFF, and TCOON */
	{"ioctl", {0, 0x540a, 1}, 0},
	{"ioctl", {0, 0x5424, 1}, 0}, /* TIOCGETD */
	{"ioctl", {0, 0x5401, 1}, 0},
	{"ioctl", {0, 0x541200000000, 1}, 0},
	{"fcntl", {3, RUBBISH | F_SETLEASE, F_RDLCK}, EPERM},
	{"fcntl", {3, RUBBISH | 1040, 0x1000}, EPERM}, /* F_SETDELEG */
	{"fcntl", {3, F_GETLEASE}, 0},
	{"fcntl", {3, F_OFD_SETLK, 0x1000}, 0},
	{"clone", {CLONE_VFORK | SIGCHLD}, EPERM},
	{"clone", {RUBBISH | CLONE_VFORK | SIGCHLD}, EPERM},
	{"clone", {CLONE_VM | CLONE_VFORK | SIGCHLD}, 0},
	{"clone", {SIGCHLD}, 0},
	{"clone", {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD}, EPERM},
	{"clone", {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD}, 0},
	{"close_range", {3, ~0u, CLOSE_RANGE_UNSHARE}, EPERM},
	{"close_range", {3, ~0u, CLOSE_RANGE_CLOEXEC}, 0},
	{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB}, ENOMEM},
	{"mmap", {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS}, 0},
	{"memfd_create", {1, RUBBISH | MFD_HUGETLB}, EINVAL},
	{"memfd_create", {1, MFD_CLOEXEC}, 0},
	{"shmget", {0, 4096, SHM_HUGETLB | 0600}, ENOMEM},
	{"shmget", {0, 4096, 0600}, 0},
	{"prctl", {PR_SET_DUMPABLE, 0}, EPERM},
	{"prctl", {RUBBISH | PR_SET_DUMPABLE, RUBBISH | 0}, EPERM},
	{"prctl", {PR_SET_DUMPABLE, 1}, 0},
	{"setrlimit", {RLIMIT_CORE, 0x1000}, EINVAL},
	{"setrlimit", {RLIMIT_NOFILE, 0x1000}, 0},
	{"prlimit64", {0, RLIMIT_CORE, 0x1000}, EINVAL},
	{"prlimit64", {0, RLIMIT_CORE, 0, 0x1000}, 0},
	{"prlimit64", {1, 7, 0x1000}, EPERM},
	{"prlimit64", {1, 7, 0x100000000}, EPERM},
	{"prlimit64", {0, 7, 0x1000}, 0},
	{"prlimit64", {RUBBISH, 7, 0x1000}, 0},
	{"prlimit64", {1, 7, 0, 0x1000}, 0},
	{"sched_setaffinity", {1}, EPERM},
	{"sched_setaffinity", {0, 8, 1}, 0},
	{"sched_setattr", {1}, EPERM},
	{"sched_setattr", {0}, 0},
	{"sched_setparam", {1}, EPERM},
	{"sched_setparam", {0}, 0},
	{"sched_setscheduler", {1, 5}, EPERM},
	{"sched_setscheduler", {0, 5}, 0},
	{"setpriority", {0, 0, 5}, 0},
	{"setpriority", {0, 1, 5}, EPERM},
	{"setpriority", {1, 0, 5}, EPERM},
	{"setpriority", {2, 0, 5}, EPERM},
	{"setpriority", {2, 1000, 5}, EPERM},
	{"ioprio_set", {1, 0, 0x4004}, 0},
	{"ioprio_set", {1, 1, 0x4004}, EPERM},
	{"ioprio_set", {3, 1000, 0x4004}, EPERM},
	{"socket", {AF_UNIX, SOCK_STREAM}, 0},
	{"socket", {AF_INET, SOCK_STREAM | SOCK_CLOEXEC}, 0},
	{"socket", {AF_INET6, SOCK_DGRAM}, 0},
	{"socket", {RUBBISH | AF_INET, SOCK_STREAM}, 0},
	{"socket", {AF_NETLINK, SOCK_RAW, 0}, 0},
	{"socket", {AF_NETLINK, SOCK_RAW, 9}, EPROTONOSUPPORT},
	{"socket", {AF_NETLINK, SOCK_RAW, 15}, EPROTONOSUPPORT},
	{"socket", {AF_INET, SOCK_PACKET | SOCK_CLOEXEC, 0x300}, EAFNOSUPPORT},
	{"socket", {AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
	{"socket", {RUBBISH | AF_VSOCK, SOCK_STREAM}, EAFNOSUPPORT},
	{"socket", {AF_ALG, SOCK_SEQPACKET}, EAFNOSUPPORT},
	{"socket", {AF_PACKET, SOCK_RAW}, EAFNOSUPPORT},
	{"socket", {AF_BLUETOOTH, SOCK_RAW}, EAFNOSUPPORT},
	{"socket", {29, SOCK_RAW}, EAFNOSUPPORT},
	{"socket", {0, SOCK_RAW}, EAFNOSUPPORT},
	{"socketpair", {AF_UNIX, SOCK_STREAM}, 0},
	{"socketpair", {30, SOCK_STREAM}, EAFNOSUPPORT},
};

/* Each overlay rule is met by some attempt: a new one cannot come without a test. */
static bool attempt_meets(const struct attempt *attempt, const struct overlay_rule *overlay, const char *name)
{
	struct filter_plan plan = {0};
	struct filter_rule rule = {overlay->tests, overlay->n_tests, FILTER_ERRNO(overlay->refusal)};

	plan.decisions[0] = (struct filter_decision){&rule, 1, SECCOMP_RET_ALLOW};
	return strcmp(attempt->name, name) == 0 && attempt->refusal == overlay->refusal &&
		filter_plan_decide(&plan, 0, attempt->args) == rule.action;
}

Test(filter_overlay, attempts_cover_every_refusal)
{
	for (size_t i = 0; i < overlay_rules_n; i++) {
		const char *names = overlay_rules[i].names;
		char name[SYSCALL_NAME_SIZE];

		while (syscall_group_next(&names, name) > 0) {
			bool met = false;

			for (size_t a = 0; a < N_OF(attempts); a++)
				met = met || attempt_meets(&attempts[a], &overlay_rules[i], name);
			cr_expect(met, "nothing tries %s: %s", name, overlay_rules[i].what);
		}
	}
}

static uint32_t answer(const struct made *made, const char *name)
{
	int number = syscall_number(name);

	cr_assert_geq(number, 0, "no call %s", name);
	return bpf_machine_call(&made->filter, (uint32_t)number, no_args);
}

static void expect_refused(const struct made *made, const struct attempt *attempt, bool exact, const char *under)
{
	uint32_t got = bpf_machine_call(&made->filter, (uint32_t)syscall_number(attempt->name), attempt->args);

	cr_expect(!filter_action_allows(got), "%s(%#lx, %#lx, %#lx, %#lx) is allowed under %s", attempt->name,
		attempt->args[0], attempt->args[1], attempt->args[2], attempt->args[3], under);
	if (exact)
		cr_expect_eq(got, FILTER_ERRNO(attempt->refusal), "%s(%#lx, %#lx, %#lx, %#lx) gives 0x%08x under %s",
			attempt->name, attempt->args[0], attempt->args[1], attempt->args[2], attempt->args[3], got,
			under);
}

static void expect_refusals(const struct filter_request *request, bool exact, bool others_allowed)
{
	cleanup_made struct made made = make_good_filter(request);

	for (size_t i = 0; i < N_OF(attempts); i++) {
		if (attempts[i].refusal != 0)
			expect_refused(&made, &attempts[i], exact, request->profile);
		else if (others_allowed)
			cr_expect_eq(bpf_machine_call(&made.filter, (uint32_t)syscall_number(attempts[i].name),
					     attempts[i].args),
				SECCOMP_RET_ALLOW, "%s (attempt %zu) under %s", attempts[i].name, i, request->profile);
	}
	for (uint32_t number = 0; number < SYSCALL_NUMBERS; number++)
		if (syscall_name(number) == NULL)
			cr_expect(!filter_action_allows(bpf_machine_call(&made.filter, number, no_args)), "%u", number);
	for (uint32_t number = 0; number < 600; number++) {
		uint32_t x32 = bpf_machine_call(&made.filter, number | 0x40000000, no_args);

		cr_assert(!filter_action_allows(x32), "x32 number %u is allowed under %s", number, request->profile);
	}
}

Test(filter_overlay, refusals_hold_under_built_in_profiles)
{
	for (size_t i = 0; i < builtin_filters_n; i++) {
		bool full = strcmp(builtin_filters[i].profile, ":default") == 0;

		expect_refusals(&(struct filter_request){.profile = builtin_filters[i].profile,
					.nested_namespaces = builtin_filters[i].nested_namespaces},
			full, full);
	}
}

Test(filter_overlay, refusals_hold_when_everything_is_allowed_by_name)
{
	const char *allow[SYSCALL_NUMBERS];
	size_t n = 0;

	for (unsigned number = 0; number < SYSCALL_NUMBERS; number++)
		if (syscall_name(number) != NULL)
			allow[n++] = syscall_name(number);
	for (int nested = 0; nested < 2; nested++)
		expect_refusals(
			&(struct filter_request){
				.profile = ":strict", .allow = allow, .n_allow = n, .nested_namespaces = nested == 1},
			true, true);
}

static void expect_refusals_under_file(const char *text, bool exact, bool others_allowed)
{
	char directory[256], path[300];
	int fd = harness_tmpdir(directory, sizeof directory);
	int file = openat(fd, "profile.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(file, 0);
	cr_assert_eq(fd_write_all(file, text, strlen(text)), 0);
	fd_close(file);
	fd_close(fd);
	snprintf(path, sizeof path, "%s/profile.json", directory);
	for (int nested = 0; nested < 2; nested++)
		expect_refusals(&(struct filter_request){.profile = path, .nested_namespaces = nested == 1}, exact,
			others_allowed);
	harness_rm_tree(directory);
}

Test(filter_overlay, refusals_hold_under_a_file_that_allows_everything)
{
	expect_refusals_under_file("{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", true, true);
	expect_refusals_under_file("{\"defaultAction\": \"SCMP_ACT_LOG\"}", true, false);
}

Test(filter_overlay, refusals_do_not_soften_a_file_that_kills)
{
	expect_refusals_under_file("{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\"}", false, false);
	expect_refusals_under_file(
		"{\"defaultAction\": \"SCMP_ACT_TRAP\", \"syscalls\": [{\"names\": [\"chmod\", \"clone3\"],"
		" \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, \"value\": 1, \"op\": "
		"\"SCMP_CMP_EQ\"}]}]}",
		false, false);
}

Test(filter_overlay, answers_that_end_the_process_are_kept)
{
	cleanup_reading struct reading reading = read_good_profile(
		"{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\", \"syscalls\": [{\"names\": [\"openat2\", "
		"\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\"}]}");
	struct error err = {0};

	harness_ok(overlay_apply(reading.plan, reading.arena, &err), &err);
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_clone3, no_args), SECCOMP_RET_KILL_PROCESS);
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_fchmod, (uint64_t[6]){3, 04755}), SECCOMP_RET_KILL_PROCESS);
	cr_expect_eq(filter_plan_decide(reading.plan, 400, no_args), SECCOMP_RET_KILL_PROCESS, "a number nobody has");
	cr_expect_eq(filter_plan_decide(reading.plan, 0x40000000, no_args), SECCOMP_RET_KILL_PROCESS);
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_openat2, no_args), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_chmod, (uint64_t[6]){3, 04755}), FILTER_ERRNO(EPERM));
}

/* Root of a namespace of one's own may store file capabilities: no xattrs wherever such a namespace can be made. */
Test(filter_overlay, xattrs_go_where_user_namespaces_come)
{
	const char *const unshare[] = {"unshare"}, *const clone[] = {"clone"}, *const other[] = {"ptrace"};
	cleanup_made struct made plain = make_good_filter(&(struct filter_request){.profile = ":default"});
	cleanup_made struct made by_unshare =
		make_good_filter(&(struct filter_request){.profile = ":default", .allow = unshare, .n_allow = 1});
	cleanup_made struct made by_clone =
		make_good_filter(&(struct filter_request){.profile = ":default", .allow = clone, .n_allow = 1});
	cleanup_made struct made by_other =
		make_good_filter(&(struct filter_request){.profile = ":default", .allow = other, .n_allow = 1});
	static const char *const names[] = {"setxattr", "lsetxattr", "fsetxattr"};

	for (size_t i = 0; i < N_OF(names); i++) {
		cr_expect_eq(answer(&plain, names[i]), SECCOMP_RET_ALLOW);
		cr_expect_eq(answer(&by_other, names[i]), SECCOMP_RET_ALLOW);
		cr_expect_eq(answer(&by_unshare, names[i]), FILTER_ERRNO(EOPNOTSUPP));
		cr_expect_eq(answer(&by_clone, names[i]), FILTER_ERRNO(EOPNOTSUPP));
	}
}

/* The compiled filter says what the plan says, for all numbers and for the arguments of all attempts. */
Test(filter_overlay, compiled_filters_agree_with_their_plans)
{
	for (size_t i = 0; i < builtin_filters_n; i++) {
		struct filter_request request = {.profile = builtin_filters[i].profile,
			.nested_namespaces = builtin_filters[i].nested_namespaces};
		cleanup_made struct made made = make_good_filter(&request);
		const struct filter_plan *plan;

		harness_ok(filter_plan_new(&request, made.arena, &plan, &made.diag, &made.err), &made.err);
		for (uint32_t number = 0; number < 600; number++)
			for (size_t a = 0; a < N_OF(attempts); a++)
				cr_assert_eq(bpf_machine_call(&made.filter, number, attempts[a].args),
					filter_plan_decide(plan, number, attempts[a].args),
					"%u with the arguments of %zu", number, a);
	}
}
