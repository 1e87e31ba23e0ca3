/* What filters answer for requests: profiles, wishes, and the refusals that hold over all of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "seccomp/builtin.h"
#include "seccomp/compile.h"
#include "seccomp/groups.h"
#include "tests/unit/bpf_machine.h"
#include "tests/unit/filter_fixture.h"
#include "tests/unit/harness.h"

TestSuite(filter, .fini = harness_leak_check);

static const uint64_t no_args[6];

static uint32_t answer(const struct made *made, const char *name)
{
	int number = syscall_number(name);

	cr_assert_geq(number, 0, "no call %s", name);
	return bpf_machine_call(&made->filter, (uint32_t)number, no_args);
}

Test(filter, each_known_call_is_in_one_group)
{
	unsigned seen[SYSCALL_NUMBERS] = {0};

	for (size_t i = 0; i < syscall_groups_n; i++) {
		const char *names = syscall_groups[i].names;
		char name[SYSCALL_NAME_SIZE];

		while (syscall_group_next(&names, name) > 0) {
			int number = syscall_number(name);

			cr_assert(number >= 0 && number < SYSCALL_NUMBERS, "%s: no such call", name);
			seen[number]++;
		}
		cr_expect_str_empty(names, "group \"%s\" is cut at \"%s\"", syscall_groups[i].title, names);
	}
	for (unsigned number = 0; number < SYSCALL_NUMBERS; number++)
		cr_expect_eq(seen[number], syscall_name(number) != NULL, "%u (%s) is in %u groups", number,
			syscall_name(number), seen[number]);
}

Test(filter, names_and_numbers)
{
	cr_expect_eq(syscall_number("read"), SYS_read);
	cr_expect_eq(syscall_number("fchmodat2"), 452);
	cr_expect_eq(syscall_number("file_setattr"), 469);
	cr_expect_str_eq(syscall_name(451), "cachestat");
	cr_expect_str_eq(syscall_name(462), "mseal");
	cr_expect_null(syscall_name(400));
	cr_expect_null(syscall_name(SYSCALL_NUMBERS));
	cr_expect_eq(syscall_number("socketcall"), -1);
	cr_expect(syscall_is_foreign("socketcall"));
	cr_expect(!syscall_is_foreign("socket"));
	cr_expect(!syscall_is_foreign("sokcet"));
}

Test(filter, embedded_filters_are_what_the_compiler_makes_now)
{
	size_t n = 0;

	for (size_t i = 0; i < builtin_filters_n; i++) {
		const struct builtin_filter *builtin = &builtin_filters[i];
		struct filter_request request = {
			.profile = builtin->profile, .nested_namespaces = builtin->nested_namespaces};
		cleanup_made struct made made = make_good_filter(&request);
		const struct filter_plan *plan;
		struct filter fresh;

		cr_expect_eq(
			made.filter.instructions, builtin->filter.instructions, "%s is not embedded", builtin->profile);
		harness_ok(filter_plan_new(&request, made.arena, &plan, &made.diag, &made.err), &made.err);
		harness_ok(filter_compile(plan, made.arena, &fresh, &made.err), &made.err);
		cr_assert_eq(fresh.n, builtin->filter.n);
		cr_expect_arr_eq(fresh.instructions, builtin->filter.instructions, fresh.n * sizeof *fresh.instructions);
		cr_expect_lt(fresh.n, 256, "a built-in filter should load quickly");
	}
	while (filter_profile_names[n] != NULL)
		n++;
	cr_expect_eq(builtin_filters_n, 2 * n);
}

Test(filter, default_refuses)
{
	static const char *const eperm[] = {"mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "open_tree",
		"open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "kexec_load",
		"kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open",
		"userfaultfd", "keyctl", "add_key", "request_key", "ptrace", "process_vm_readv", "process_vm_writev",
		"kcmp", "pidfd_getfd", "open_by_handle_at", "name_to_handle_at", "quotactl", "quotactl_fd", "acct",
		"swapon", "swapoff", "reboot", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl",
		"ioperm", "syslog", "vhangup", "lookup_dcookie", "mbind", "migrate_pages", "move_pages", "set_mempolicy",
		"fanotify_init", "memfd_secret", "sethostname", "setdomainname", "nfsservctl", "modify_ldt"};
	static const char *const enosys[] = {"clone3", "openat2", "io_uring_setup", "io_uring_enter",
		"io_uring_register", "setxattrat", "file_setattr"};

	for (size_t profile = 0; filter_profile_names[profile] != NULL; profile++) {
		cleanup_made struct made made =
			make_good_filter(&(struct filter_request){.profile = filter_profile_names[profile]});

		for (size_t i = 0; i < N_OF(eperm); i++)
			cr_expect_eq(answer(&made, eperm[i]), FILTER_ERRNO(EPERM), "%s", eperm[i]);
		for (size_t i = 0; i < N_OF(enosys); i++)
			cr_expect_eq(answer(&made, enosys[i]), FILTER_ERRNO(ENOSYS), "%s", enosys[i]);
	}
}

Test(filter, namespaces_cannot_be_made_by_clone)
{
	static const uint64_t flags[] = {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
		CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_VM | 17, 0x100000000ull | CLONE_NEWUSER};

	for (size_t profile = 0; filter_profile_names[profile] != NULL; profile++) {
		struct filter_request request = {.profile = filter_profile_names[profile]};
		cleanup_made struct made plain = make_good_filter(&request);
		cleanup_made struct made nested = (request.nested_namespaces = true, make_good_filter(&request));

		for (size_t i = 0; i < N_OF(flags); i++) {
			uint64_t args[6] = {flags[i]};

			cr_expect_eq(bpf_machine_call(&plain.filter, SYS_clone, args), FILTER_ERRNO(EPERM));
			cr_expect_eq(bpf_machine_call(&nested.filter, SYS_clone, args), SECCOMP_RET_ALLOW);
		}
		cr_expect_eq(bpf_machine_call(&plain.filter, SYS_clone, (uint64_t[6]){0x3d0f00}), SECCOMP_RET_ALLOW,
			"a thread");
		cr_expect_eq(bpf_machine_call(&plain.filter, SYS_clone, (uint64_t[6]){0x1200011}), SECCOMP_RET_ALLOW,
			"a fork");
	}
}

Test(filter, personality_takes_harmless_values_only)
{
	static const uint64_t good[] = {0, 8, 0x20000, 0x20008, 0x40000, 0xffffffff, 0xffffffffffffffff};
	static const uint64_t bad[] = {0x1234, 0x400000, 1, 0x100000, 0x200000, 0x800000, 0x8000000};
	cleanup_made struct made made = make_good_filter(&(struct filter_request){.profile = ":default"});

	for (size_t i = 0; i < N_OF(good); i++)
		cr_expect_eq(bpf_machine_call(&made.filter, SYS_personality, (uint64_t[6]){good[i]}), SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < N_OF(bad); i++)
		cr_expect_eq(bpf_machine_call(&made.filter, SYS_personality, (uint64_t[6]){bad[i]}), FILTER_ERRNO(EPERM));
}

Test(filter, strict_has_no_sockets_but_a_pair)
{
	cleanup_made struct made made = make_good_filter(&(struct filter_request){.profile = ":strict"});

	cr_expect_eq(answer(&made, "socket"), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(answer(&made, "connect"), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(answer(&made, "bind"), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(bpf_machine_call(&made.filter, SYS_socketpair, (uint64_t[6]){AF_UNIX}), SECCOMP_RET_ALLOW);
	cr_expect_eq(bpf_machine_call(&made.filter, SYS_socketpair, (uint64_t[6]){AF_INET}), FILTER_ERRNO(EAFNOSUPPORT));
	cr_expect_eq(answer(&made, "execve"), SECCOMP_RET_ALLOW);
}

/* What :strict allows, :default allows too. */
Test(filter, strict_is_within_default)
{
	cleanup_made struct made strict = make_good_filter(&(struct filter_request){.profile = ":strict"});
	cleanup_made struct made normal = make_good_filter(&(struct filter_request){.profile = ":default"});
	size_t fewer = 0;

	for (uint32_t number = 0; number < 600; number++) {
		bool in_strict = bpf_machine_call(&strict.filter, number, no_args) == SECCOMP_RET_ALLOW;
		bool in_default = bpf_machine_call(&normal.filter, number, no_args) == SECCOMP_RET_ALLOW;

		cr_expect(in_default || !in_strict, "%u", number);
		fewer += in_default && !in_strict;
	}
	cr_expect_gt(fewer, 50);
}

Test(filter, nested_namespaces_allow_what_they_need)
{
	static const char *const names[] = {"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree",
		"move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "sethostname"};
	cleanup_made struct made made =
		make_good_filter(&(struct filter_request){.profile = ":default", .nested_namespaces = true});

	for (size_t i = 0; i < N_OF(names); i++)
		cr_expect_eq(answer(&made, names[i]), SECCOMP_RET_ALLOW, "%s", names[i]);
	cr_expect_eq(answer(&made, "clone3"), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(answer(&made, "setxattr"), FILTER_ERRNO(EOPNOTSUPP));
	cr_expect_eq(answer(&made, "bpf"), FILTER_ERRNO(EPERM));
}

Test(filter, allow_and_deny)
{
	const char *const allow[] = {"ptrace", "mkdir", "clone3"};
	const char *const deny[] = {"socket", "ptrace", "openat2"};
	cleanup_made struct made made = make_good_filter(&(struct filter_request){
		.profile = ":default", .allow = allow, .n_allow = 3, .deny = deny, .n_deny = 1, .deny_errno = EACCES});
	cleanup_made struct made both = make_good_filter(&(struct filter_request){
		.profile = ":default", .allow = allow, .n_allow = 3, .deny = deny, .n_deny = 3});

	cr_expect_eq(answer(&made, "ptrace"), SECCOMP_RET_ALLOW);
	cr_expect_eq(answer(&made, "socket"), FILTER_ERRNO(EACCES));
	cr_expect_eq(answer(&made, "clone3"), FILTER_ERRNO(ENOSYS), "allow lifts no refusal of pinfold's own");
	cr_expect_eq(answer(&made, "mount"), FILTER_ERRNO(EPERM));
	cr_expect_eq(answer(&both, "ptrace"), FILTER_ERRNO(EPERM), "deny wins, with EPERM where no errno was given");
	cr_expect_eq(answer(&both, "openat2"), FILTER_ERRNO(ENOSYS), "libraries must go on falling back");
}

Test(filter, tells_where_nothing_could_be_started)
{
	const char *const execve[] = {"execve"};
	cleanup_made struct made made = make_good_filter(&(struct filter_request){.profile = ":strict"});
	cleanup_made struct made denied =
		make_good_filter(&(struct filter_request){.profile = ":strict", .deny = execve, .n_deny = 1});

	cr_expect_not(made.filter.forbids_start);
	cr_expect(denied.filter.forbids_start);
}

Test(filter, unknown_names_are_errors_all_at_once)
{
	const char *const allow[] = {"mkdri", "socketcall"};
	const char *const deny[] = {"xyzzy-no-such-call\n"};
	cleanup_made struct made made = make_filter(&(struct filter_request){
		.profile = ":default", .allow = allow, .n_allow = 2, .deny = deny, .n_deny = 1});

	cr_assert_eq(made.result, -1);
	cr_expect_eq(made.err.code, ERROR_POLICY_INVALID);
	cr_expect_eq(made.diag.n_errors, 3);
	cr_expect(diag_has(&made.diag, false, "did you mean \"mkdir\"?"));
	cr_expect(diag_has(&made.diag, false, "\"socketcall\" is no system call of x86-64"));
	cr_expect(diag_has(&made.diag, false, "seccomp.deny: unknown system call \"xyzzy-no-such-call\\x0a\""));
	cr_expect_null(made.filter.instructions);
}

Test(filter, unknown_profiles_and_errnos)
{
	const char *const deny[] = {"socket"};
	cleanup_made struct made typo = make_filter(&(struct filter_request){.profile = ":defualt"});
	cleanup_made struct made absent = make_filter(&(struct filter_request){.profile = "/nonexistent/profile.json"});
	cleanup_made struct made number = make_filter(
		&(struct filter_request){.profile = ":default", .deny = deny, .n_deny = 1, .deny_errno = 4096});

	cr_expect_eq(typo.result, -1);
	cr_expect_eq(typo.err.code, ERROR_POLICY_INVALID);
	cr_expect(strstr(typo.err.fix, ":default") != NULL);
	cr_expect_eq(absent.result, -1);
	cr_expect_eq(absent.err.sys_errno, ENOENT);
	cr_expect_eq(number.result, -1);
	cr_expect_eq(number.err.code, ERROR_POLICY_INVALID);
}

Test(filter, kernel_has_filters)
{
	int why = 0;

	if (!filter_probe(&why))
		cr_skip("this kernel has no filters (errno %d)", why);
	cr_expect_eq(why, 0);
}
