/* Profiles in the OCI format: what they mean, what is refused, and that libseccomp reads the same rules alike. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "seccomp/compile.h"
#include "tests/unit/bpf_machine.h"
#include "tests/unit/filter_fixture.h"
#include "tests/unit/harness.h"

TestSuite(filter_oci, .fini = harness_leak_check);

static uint32_t decide(const struct reading *reading, unsigned number, uint64_t arg0)
{
	uint64_t args[6] = {arg0};

	return filter_plan_decide(reading->plan, number, args);
}

/* `rules` are the elements of "syscalls"; the default is EPERM. */
static struct reading read_rules(const char *rules)
{
	char text[4096];

	snprintf(text, sizeof text, "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [%s]}", rules);
	return read_good_profile(text);
}

static bool op_holds(const char *op, uint64_t arg, uint64_t value, uint64_t value_two)
{
	if (strcmp(op, "SCMP_CMP_NE") == 0)
		return arg != value;
	if (strcmp(op, "SCMP_CMP_LT") == 0)
		return arg < value;
	if (strcmp(op, "SCMP_CMP_LE") == 0)
		return arg <= value;
	if (strcmp(op, "SCMP_CMP_EQ") == 0)
		return arg == value;
	if (strcmp(op, "SCMP_CMP_GE") == 0)
		return arg >= value;
	if (strcmp(op, "SCMP_CMP_GT") == 0)
		return arg > value;
	return (arg & value) == (value_two & value);
}

static const char *const ops[] = {
	"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
static const uint64_t values[] = {
	0, 1, 5, 0xffffffff, 0x100000000, 0x100000001, 0x7e020000, 0x123456789abcdef0, INT64_MAX};

Test(filter_oci, every_operator)
{
	for (size_t o = 0; o < N_OF(ops); o++)
		for (size_t v = 0; v < N_OF(values); v++) {
			char rule[300];
			cleanup_reading struct reading reading =
				(snprintf(rule, sizeof rule,
					 "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, "
					 "\"value\": %lu, \"valueTwo\": 1, \"op\": \"%s\"}]}",
					 values[v], ops[o]),
					read_rules(rule));

			for (size_t a = 0; a < N_OF(values); a++)
				cr_assert_eq(decide(&reading, SYS_chmod, values[a]) == SECCOMP_RET_ALLOW,
					op_holds(ops[o], values[a], values[v], 1), "%#lx %s %#lx", values[a], ops[o],
					values[v]);
		}
}

Test(filter_oci, the_usual_rule_for_clone)
{
	cleanup_reading struct reading reading = read_rules(
		"{\"name\": \"clone\", \"action\": \"SCMP_ACT_ALLOW\", \"args\": [{\"index\": 0, \"value\": "
		"2114060288, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\"}]}");

	cr_expect_eq(decide(&reading, SYS_clone, 0x3d0f00), SECCOMP_RET_ALLOW);
	cr_expect_eq(decide(&reading, SYS_clone, CLONE_NEWUSER | 17), FILTER_ERRNO(EPERM));
	cr_expect_eq(decide(&reading, SYS_clone, CLONE_NEWNS), FILTER_ERRNO(EPERM));
}

Test(filter_oci, conditions_on_different_arguments_must_all_hold)
{
	cleanup_reading struct reading reading = read_rules(
		"{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": ["
		"{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"},"
		"{\"index\": 5, \"value\": 2, \"op\": \"SCMP_CMP_EQ\"}]}");

	cr_expect_eq(filter_plan_decide(reading.plan, SYS_chmod, (uint64_t[6]){1, 0, 0, 0, 0, 2}), SECCOMP_RET_ALLOW);
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_chmod, (uint64_t[6]){1, 0, 0, 0, 0, 3}), FILTER_ERRNO(EPERM));
	cr_expect_eq(filter_plan_decide(reading.plan, SYS_chmod, (uint64_t[6]){0, 0, 0, 0, 0, 2}), FILTER_ERRNO(EPERM));
}

Test(filter_oci, conditions_on_one_argument_are_alternatives)
{
	cleanup_reading struct reading reading = read_rules(
		"{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": ["
		"{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"},"
		"{\"index\": 0, \"value\": 7, \"op\": \"SCMP_CMP_EQ\"}]}");

	cr_expect_eq(decide(&reading, SYS_chmod, 1), SECCOMP_RET_ALLOW);
	cr_expect_eq(decide(&reading, SYS_chmod, 7), SECCOMP_RET_ALLOW);
	cr_expect_eq(decide(&reading, SYS_chmod, 3), FILTER_ERRNO(EPERM));
	cr_expect(diag_has(&reading.diag, true, "any one of them is enough"));
}

#define ALLOW_CHMOD   "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\"}"
#define ERRNO_CHMOD_5 "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 13, \"args\": [" EQ_5 "]}"
#define KILL_CHMOD_LE "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_KILL_PROCESS\", \"args\": [" LE_5 "]}"
#define ALLOW_CHMOD_5 "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": [" EQ_5 "]}"
#define EPERM_CHMOD   "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1}"
#define EQ_5          "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_EQ\"}"
#define LE_5          "{\"index\": 0, \"value\": 5, \"op\": \"SCMP_CMP_LE\"}"

static const struct {
	const char *rules;
	uint32_t with_5, with_6;
	bool warned;
} combinations[] = {
	{ALLOW_CHMOD "," ERRNO_CHMOD_5, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, true},
	{ERRNO_CHMOD_5 "," ALLOW_CHMOD, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, true},
	{ALLOW_CHMOD "," ALLOW_CHMOD_5, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, false},
	{EPERM_CHMOD "," ALLOW_CHMOD_5, SECCOMP_RET_ALLOW, FILTER_ERRNO(EPERM), false},
	{ERRNO_CHMOD_5, FILTER_ERRNO(EACCES), FILTER_ERRNO(EPERM), false},
	{ALLOW_CHMOD_5 "," KILL_CHMOD_LE, SECCOMP_RET_KILL_PROCESS, FILTER_ERRNO(EPERM), false},
	{KILL_CHMOD_LE "," ALLOW_CHMOD_5, SECCOMP_RET_KILL_PROCESS, FILTER_ERRNO(EPERM), false},
};

Test(filter_oci, rules_for_one_call_combine)
{
	for (size_t i = 0; i < N_OF(combinations); i++) {
		cleanup_reading struct reading reading = read_rules(combinations[i].rules);

		cr_expect_eq(decide(&reading, SYS_chmod, 5), combinations[i].with_5, "%s", combinations[i].rules);
		cr_expect_eq(decide(&reading, SYS_chmod, 6), combinations[i].with_6, "%s", combinations[i].rules);
		cr_expect_eq(diag_has(&reading.diag, true, "different answer"), combinations[i].warned, "%s",
			combinations[i].rules);
	}
}

static const struct {
	const char *conditions;
	bool applies;
} conditions[] = {
	{"", true},
	{", \"includes\": {}, \"excludes\": {}, \"comment\": null", true},
	{", \"includes\": null, \"excludes\": {\"caps\": []}", true},
	{", \"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", false},
	{", \"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}", true},
	{", \"includes\": {\"arches\": [\"amd64\"]}", true},
	{", \"includes\": {\"arches\": [\"s390\", \"x32\", \"amd64\"]}", true},
	{", \"includes\": {\"arches\": [\"arm64\"]}", false},
	{", \"excludes\": {\"arches\": [\"amd64\"]}", false},
	{", \"excludes\": {\"arches\": [\"s390\", \"s390x\"]}", true},
	{", \"includes\": {\"arches\": [\"amd64\"], \"caps\": [\"CAP_BPF\"]}", false},
	{", \"includes\": {\"minKernel\": \"4.8\"}", true},
	{", \"includes\": {\"minKernel\": \"6.1\"}", true},
	{", \"includes\": {\"minKernel\": \"6.2\"}", false},
	{", \"includes\": {\"minKernel\": \"10.0\"}", false},
	{", \"excludes\": {\"minKernel\": \"4.8\"}", false},
	{", \"excludes\": {\"minKernel\": \"6.2\"}", true},
	{", \"includes\": {\"arches\": [\"amd64\"]}, \"excludes\": {\"caps\": [\"CAP_BPF\"], \"arches\": [\"s390\"]}",
		true},
};

Test(filter_oci, conditions_of_rules)
{
	for (size_t i = 0; i < N_OF(conditions); i++) {
		char rule[400];
		cleanup_reading struct reading reading =
			(snprintf(rule, sizeof rule, "{\"names\": [\"chmod\"], \"action\": \"SCMP_ACT_ALLOW\"%s}",
				 conditions[i].conditions),
				read_rules(rule));

		cr_expect_eq(decide(&reading, SYS_chmod, 0),
			conditions[i].applies ? SECCOMP_RET_ALLOW : FILTER_ERRNO(EPERM), "%s", conditions[i].conditions);
	}
}

static const struct {
	const char *text;
	uint32_t action;
} defaults[] = {
	{"{\"defaultAction\": \"SCMP_ACT_KILL\"}", SECCOMP_RET_KILL_THREAD},
	{"{\"defaultAction\": \"SCMP_ACT_KILL_THREAD\"}", SECCOMP_RET_KILL_THREAD},
	{"{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\"}", SECCOMP_RET_KILL_PROCESS},
	{"{\"defaultAction\": \"SCMP_ACT_TRAP\"}", SECCOMP_RET_TRAP},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", SECCOMP_RET_ALLOW},
	{"{\"defaultAction\": \"SCMP_ACT_LOG\"}", SECCOMP_RET_LOG},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\"}", FILTER_ERRNO(EPERM)},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 38}", FILTER_ERRNO(ENOSYS)},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EACCES\"}", FILTER_ERRNO(EACCES)},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 13, \"defaultErrno\": \"EACCES\"}",
		FILTER_ERRNO(EACCES)},
	{"// a comment\n{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": null, \"architectures\": [],}",
		SECCOMP_RET_ALLOW},
};

Test(filter_oci, default_actions)
{
	for (size_t i = 0; i < N_OF(defaults); i++) {
		cleanup_reading struct reading reading = read_good_profile(defaults[i].text);

		/* Nothing is named, so to an errno every call is a newer one. */
		if ((defaults[i].action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
			cr_expect_eq(decide(&reading, SYS_chmod, 0), FILTER_ERRNO(ENOSYS));
		else
			cr_expect_eq(decide(&reading, SYS_chmod, 0), defaults[i].action, "%s", defaults[i].text);
	}
}

Test(filter_oci, calls_newer_than_the_profile)
{
	cleanup_reading struct reading reading = read_good_profile(
		"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EACCES\", \"syscalls\": ["
		"{\"names\": [\"read\", \"statx\"], \"action\": \"SCMP_ACT_ALLOW\"}]}");

	cr_expect_eq(decide(&reading, SYS_write, 0), FILTER_ERRNO(EACCES), "older: the default");
	cr_expect_eq(decide(&reading, SYS_statx, 0), SECCOMP_RET_ALLOW);
	cr_expect_eq(decide(&reading, SYS_statx + 1, 0), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(decide(&reading, 439, 0), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(decide(&reading, 1000, 0), FILTER_ERRNO(ENOSYS));
	cr_expect_eq(decide(&reading, 0x40000000, 0), FILTER_ERRNO(ENOSYS));
}

Test(filter_oci, calls_newer_than_a_profile_that_kills_are_killed)
{
	cleanup_reading struct reading reading = read_good_profile(
		"{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\", \"syscalls\": ["
		"{\"names\": [\"read\"], \"action\": \"SCMP_ACT_ALLOW\"}]}");

	cr_expect_eq(decide(&reading, 1000, 0), SECCOMP_RET_KILL_PROCESS);
}

#define RULE(fields) "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"names\": [\"chmod\"], " fields "}]}"
#define ARG(fields)  RULE("\"action\": \"SCMP_ACT_ALLOW\", \"args\": [{" fields "}]")

static const struct {
	const char *text, *complaint;
} mistakes[] = {
	{"", "p.json:1:1"},
	{"[]", "a profile must be an object"},
	{"{}", "p.json:1:1: defaultAction: is missing"},
	{"{\"defaultAction\": \"SCMP_ACT_PERMIT\"}", "p.json:1:2: defaultAction: unknown action"},
	{"{\"defaultAction\": 3}", "defaultAction: must be a string"},
	{"{\"defaultAction\": \"SCMP_ACT_TRACE\"}", "nobody does"},
	{"{\"defaultAction\": \"SCMP_ACT_NOTIFY\"}", "nobody does"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscals\": []}",
		"unknown field \"syscals\"; did you mean \"syscalls\"?"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"defaultErrnoRet\": 1}", "only SCMP_ACT_ERRNO has"},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": -1}", "must be between 0 and 65535"},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 65536}", "must be between 0 and 65535"},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EPREM\"}", "no error is called so"},
	{"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 1, \"defaultErrno\": \"ENOSYS\"}", "is 38, but"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_AARCH64\"]}", "not for this machine"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_X86_46\"]}",
		"did you mean \"SCMP_ARCH_X86_64\"?"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_X86_64\"], \"archMap\": [{\"architecture\": "
	 "\"SCMP_ARCH_X86_64\", \"subArchitectures\": null}]}",
		"only one of them"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"archMap\": [{\"arch\": \"SCMP_ARCH_X86_64\"}]}",
		"unknown field \"arch\""},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"flags\": [\"SECCOMP_FILTER_FLAG_NEW\"]}", "flags.0: unknown"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"listenerPath\": \"/run/x\"}", "a listener is not supported"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"defaultAction\": \"SCMP_ACT_KILL\"}", "defaultAction"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [null]}", "syscalls.0: must be an object"},
	{"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"action\": \"SCMP_ACT_KILL\"}]}", "either \"name\" or"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"name\": \"chown\""), "either \"name\" or"},
	{RULE("\"names\": [], \"action\": \"SCMP_ACT_ALLOW\""), "names"},
	{RULE("\"comment\": \"nothing to do\""), "syscalls.0.action: is missing"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"errnoRet\": 1"), "only SCMP_ACT_ERRNO has"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"include\": {}"), "did you mean \"includes\"?"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"cap\": []}"), "did you mean \"caps\"?"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"caps\": \"CAP_BPF\"}"), "includes.caps: must be a list"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"excludes\": {\"arches\": [1]}"), "excludes.arches.0: must be a string"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"minKernel\": \"6.x\"}"), "kernel version"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"minKernel\": \"6.1.2\"}"), "kernel version"},
	{RULE("\"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"caps\": [\"CAP_BPF\"]}, \"args\": [{}]"),
		"args.0.index: is missing"},
	{ARG("\"index\": 6, \"value\": 0, \"op\": \"SCMP_CMP_EQ\""), "syscalls.0.args.0.index: must be between 0 and 5"},
	{ARG("\"index\": -1, \"value\": 0, \"op\": \"SCMP_CMP_EQ\""), "index: must be between 0 and 5"},
	{ARG("\"index\": 0, \"op\": \"SCMP_CMP_EQ\""), "value: is missing"},
	{ARG("\"index\": 0, \"value\": -1, \"op\": \"SCMP_CMP_EQ\""), "value: must be between 0 and"},
	{ARG("\"index\": 0, \"value\": 1.5, \"op\": \"SCMP_CMP_EQ\""), "value: must be a whole number"},
	{ARG("\"index\": 0, \"value\": 1"), "op: is missing"},
	{ARG("\"index\": 0, \"value\": 1, \"op\": \"EQ\""), "unknown operator"},
	{ARG("\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\", \"valueTow\": 2"), "did you mean \"valueTwo\"?"},
};

Test(filter_oci, mistakes_are_refused_with_their_place)
{
	for (size_t i = 0; i < N_OF(mistakes); i++) {
		cleanup_reading struct reading reading = read_profile(mistakes[i].text);

		cr_expect_eq(reading.result, -1, "accepted: %s", mistakes[i].text);
		cr_expect_eq(reading.err.code, ERROR_POLICY_INVALID, "%s", mistakes[i].text);
		cr_expect(diag_has(&reading.diag, false, mistakes[i].complaint), "%s: \"%s\" is not said but \"%s\"",
			mistakes[i].text, mistakes[i].complaint, reading.diag.n > 0 ? reading.diag.entries[0].text : "");
		cr_expect(reading.diag.n > 0 && str_starts_with(reading.diag.entries[0].text, "p.json:"));
	}
}

Test(filter_oci, all_mistakes_at_once_each_with_its_place)
{
	cleanup_reading struct reading reading = read_profile(
		"{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"syscalls\": [\n"
		"    {\"names\": [\"read\"], \"action\": \"ALLOW\"},\n"
		"    {\"names\": [\"write\"], \"action\": \"SCMP_ACT_ALLOW\", \"x\": 1}\n"
		"  ]\n}\n");

	cr_expect_eq(reading.result, -1);
	cr_expect_eq(reading.diag.n_errors, 2);
	cr_expect(diag_has(&reading.diag, false, "p.json:4:"));
	cr_expect(diag_has(&reading.diag, false, "p.json:5:5: syscalls.1: unknown field \"x\""));
}

Test(filter_oci, names_that_are_not_of_this_machine)
{
	cleanup_reading struct reading reading = read_rules(
		"{\"names\": [\"chown32\", \"socketcall\", \"s390_pci_mmio_read\", \"riscv_hwprobe\", \"raed\", "
		"\"read\"], \"action\": \"SCMP_ACT_ALLOW\"}");

	cr_expect_eq(reading.diag.n, 1, "only the typo is worth a word");
	cr_expect(diag_has(&reading.diag, true, "p.json:1:"));
	cr_expect(diag_has(&reading.diag, true,
		"syscalls.0.names.4: unknown system call \"raed\", ignored; did you mean \"read\"?"));
	cr_expect_eq(decide(&reading, SYS_read, 0), SECCOMP_RET_ALLOW);
}

Test(filter_oci, unknown_names_in_rules_for_other_machines)
{
	cleanup_reading struct reading reading = read_rules("{\"names\": [\"breakpoint\", \"set_tls\"], \"action\": "
							    "\"SCMP_ACT_ALLOW\", \"includes\": {\"arches\": [\"arm\"]}}");

	cr_expect_eq(reading.diag.n, 0);
}

Test(filter_oci, architectures_and_flags_that_are_taken)
{
	cleanup_reading struct reading reading = read_good_profile(
		"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"SCMP_ARCH_X86\", \"SCMP_ARCH_X86_64\"], "
		"\"flags\": [\"SECCOMP_FILTER_FLAG_TSYNC\", \"SECCOMP_FILTER_FLAG_LOG\"], \"listenerPath\": \"\"}");
	cleanup_reading struct reading map = read_good_profile(
		"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"archMap\": [{\"architecture\": \"SCMP_ARCH_X86_64\", "
		"\"subArchitectures\": [\"SCMP_ARCH_X86\"]}, {\"architecture\": \"SCMP_ARCH_RISCV64\"}]}");

	cr_expect(diag_has(&reading.diag, true, "not logged"));
	cr_expect_eq(map.diag.n, 0);
}

Test(filter_oci, kernel_versions)
{
	uint64_t version = 0;

	cr_expect(kernel_version_parse("6.18.44-cloud", false, &version) && version == KERNEL_VERSION_OF(6, 18));
	cr_expect(kernel_version_parse("4.8", true, &version) && version == KERNEL_VERSION_OF(4, 8));
	cr_expect(!kernel_version_parse("4.8.1", true, &version));
	cr_expect(!kernel_version_parse("4", true, &version));
	cr_expect(!kernel_version_parse("-4.8", true, &version));
	cr_expect(!kernel_version_parse("4.", true, &version));
	cr_expect(!kernel_version_parse("4294967296.1", true, &version));
	cr_expect(KERNEL_VERSION_OF(10, 0) > KERNEL_VERSION_OF(9, 99));
}

/* --- files of others, where the tester has some --- */

static void expect_file_holds(const char *path)
{
	struct filter_request request = {.profile = path};
	cleanup_diag struct diag diag = {0};
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct filter filter;
	struct error err = {0};

	harness_ok(arena_new(&arena, &err), &err);
	harness_ok(filter_make(&request, arena, &filter, &diag, &err), &err);
	bpf_machine_check(&filter);
	cr_expect(!filter_action_allows(bpf_machine_call(&filter, SYS_chmod, (uint64_t[6]){0, 04755})), "%s", path);
	cr_expect_eq(bpf_machine_call(&filter, 1000, (uint64_t[6]){0}), FILTER_ERRNO(ENOSYS), "%s", path);
	cr_expect(!filter_action_allows(bpf_machine_call(&filter, SYS_personality, (uint64_t[6]){0x1234})), "%s", path);
	if (strstr(path, "moby") == NULL)
		return; /* others let containers make namespaces */
	cr_expect(!filter_action_allows(bpf_machine_call(&filter, SYS_mount, (uint64_t[6]){0})), "%s", path);
	cr_expect(!filter_action_allows(bpf_machine_call(&filter, SYS_unshare, (uint64_t[6]){CLONE_NEWUSER})), "%s",
		path);
	cr_expect(!filter_action_allows(bpf_machine_call(&filter, SYS_clone, (uint64_t[6]){CLONE_NEWUSER | 17})), "%s",
		path);
}

Test(filter_oci, files_of_others)
{
	const char *directory = getenv("PINFOLD_TEST_SECCOMP_FILES");
	DIR *listing = directory == NULL ? NULL : opendir(directory);
	size_t n = 0;

	if (directory == NULL)
		cr_skip("PINFOLD_TEST_SECCOMP_FILES names no directory of profiles");
	cr_assert_not_null(listing, "%s: %s", directory, strerror(errno));
	for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
		char path[1024];

		if (!str_match("*.json", entry->d_name))
			continue;
		snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		expect_file_holds(path);
		n++;
	}
	closedir(listing);
	cr_expect_gt(n, 0, "%s holds no profile", directory);
}
