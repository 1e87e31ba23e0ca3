/* Policy texts: the exact message and place of each mistake, and what each form of a value means. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/policy/document.h"
#include "tests/unit/harness.h"

TestSuite(policy_document, .fini = harness_leak_check);

struct row {
	const char *text;
	const char *message;
};

/* Each text has one mistake. */
static const struct row bad_texts[] = {
	{"[]", "p:1:1: expected an object, found a list"},
	{"{\"version\": 2}", "p:1:2: version: version 2 is not known; this is version 1"},
	{"{\"version\": \"1\"}", "p:1:2: version: expected 1, found a string"},
	{"{\"description\": 1}", "p:1:2: description: expected a string, found a number"},
	{"{\"verzion\": 1}", "p:1:2: verzion: unknown field; did you mean \"version\"?"},
	{"{\"limits\": {\n  // so\n  \"memry\": \"1G\",\n}}",
		"p:3:3: limits.memry: unknown field; did you mean \"memory\"?"},
	{"{\"limits\": {\"memory\": \"1G\", /* \xc3\xa9 */ \"memry\": 1}}",
		"p:1:37: limits.memry: unknown field; did you mean \"memory\"?"},
	{"{\"limit\": {}}", "p:1:2: limit: unknown field; did you mean \"limits\"?"},
	{"{\"limits.memory\": \"1G\"}", "p:1:2: limits.memory: unknown field"},
	{"{\"process\": {\"env.set\": {}}}", "p:1:14: process.env.set: unknown field"},
	{"{\"process\": {\"env\": {\"unset\": {}}}}", "p:1:22: process.env.unset: unknown field; did you mean \"set\"?"},
	{"{\"x\\ny\": 1}", "p:1:2: x\\x0ay: unknown field"},
	{"{\"limits\": null}", "p:1:2: limits: expected an object, found null"},
	{"{\"backend\": \"namespace\"}", "p:1:2: backend: \"namespace\" is not known here; did you mean \"namespaces\"?"},
	{"{\"backend\": \"docker\"}", "p:1:2: backend: \"docker\" is not known here; there are: auto, namespaces, none"},
	{"{\"backend\": null}", "p:1:2: backend: expected a string, found null"},
	{"{\"filesystem\": {\"root\": \"sytem\"}}",
		"p:1:17: filesystem.root: \"sytem\" is not a root or an absolute path; did you mean \"system\"?"},
	{"{\"filesystem\": {\"root\": \"//.\"}}", "p:1:17: filesystem.root: \"/\" is the host's own root; write \"host\""},
	{"{\"filesystem\": {\"read\": \"/a\"}}", "p:1:17: filesystem.read: expected a list, found a string"},
	{"{\"filesystem\": {\"read\": [\"/a\", \"\"]}}", "p:1:32: filesystem.read[1]: an empty path"},
	{"{\"filesystem\": {\"read\": [\"/a\", null]}}", "p:1:32: filesystem.read[1]: expected a string, found null"},
	{"{\"filesystem\": {\"deny\": [\"~bob\"]}}",
		"p:1:26: filesystem.deny[0]: \"~bob\": only \"~/\" stands for a home; write \"./~...\" for a name that "
		"begins with '~'"},
	{"{\"filesystem\": {\"write\": [\"~*/x\"]}}",
		"p:1:27: filesystem.write[0]: \"~*/x\": \"~*/\" (every home) is for deny alone"},
	{"{\"filesystem\": {\"write\": [\"/proc\"]}}",
		"p:1:27: filesystem.write[0]: \"/proc\": nothing below /proc, /sys or /dev can be made writable or mounted "
		"over"},
	{"{\"filesystem\": {\"write\": [\"/usr/../sys/fs\"]}}",
		"p:1:27: filesystem.write[0]: \"/usr/../sys/fs\": nothing below /proc, /sys or /dev can be made writable "
		"or mounted over"},
	{"{\"filesystem\": {\"write\": [\"//\"]}}",
		"p:1:27: filesystem.write[0]: \"//\": to make everything writable, write \"/\" itself"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\", \"target\": \"b\"}]}}",
		"p:1:26: filesystem.bind[0]: \"b\": the target of a bind must be absolute"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\", \"target\": \"/dev/./x\"}]}}",
		"p:1:26: filesystem.bind[0]: \"/dev/./x\": nothing below /proc, /sys or /dev can be made writable or "
		"mounted over"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\", \"target\": \"/a/..\"}]}}",
		"p:1:26: filesystem.bind[0]: \"/a/..\": the root itself cannot be mounted over"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\"}]}}", "p:1:26: filesystem.bind[0]: \"target\" is missing"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\", \"target\": \"/b\", \"wrte\": true}]}}",
		"p:1:59: filesystem.bind[0].wrte: unknown field; did you mean \"write\"?"},
	{"{\"filesystem\": {\"bind\": [{\"source\": \"/a\", \"target\": \"/b\", \"write\": 1}]}}",
		"p:1:59: filesystem.bind[0].write: expected true or false, found a number"},
	{"{\"filesystem\": {\"tmpfs\": [{\"path\": \"/t\", \"size\": 0}]}}",
		"p:1:42: filesystem.tmpfs[0].size: 0 is below the least, 64K; to lift the limit, say none"},
	{"{\"filesystem\": {\"tmpfs\": [\"/t\"]}}", "p:1:27: filesystem.tmpfs[0]: expected an object, found a string"},
	{"{\"network\": {\"mode\": \"bridge\"}}",
		"p:1:14: network.mode: \"bridge\" is not known here; there are: none, host"},
	{"{\"process\": {\"env\": {\"pass\": [\"A=B\"]}}}",
		"p:1:31: process.env.pass[0]: the name of a variable is not empty and has no '='"},
	{"{\"process\": {\"env\": {\"set\": {\"A=B\": \"hidden\"}}}}",
		"p:1:30: process.env.set.A=B: the name of a variable is not empty and has no '='"},
	{"{\"process\": {\"env\": {\"set\": {\"A\": 1}}}}",
		"p:1:30: process.env.set.A: expected a string, found a number"},
	{"{\"process\": {\"env\": {\"set\": {\"A\": \"x\\u0000y\"}}}}", "p:1:37: \\u0000 is not allowed in a string"},
	{"{\"process\": {\"hostname\": \"a_b\"}}",
		"p:1:14: process.hostname: \"a_b\" is not a host name: letters, digits and '-' between dots, at most 64"},
	{"{\"process\": {\"hostname\": \"a..b\"}}",
		"p:1:14: process.hostname: \"a..b\" is not a host name: letters, digits and '-' between dots, at most 64"},
	{"{\"process\": {\"nested_namespaces\": \"yes\"}}",
		"p:1:14: process.nested_namespaces: expected true or false, found a string"},
	{"{\"seccomp\": {\"profile\": \":defualt\"}}",
		"p:1:14: seccomp.profile: \":defualt\" is not a built-in profile; did you mean \":default\"?"},
	{"{\"seccomp\": {\"errno\": \"EPREM\"}}",
		"p:1:14: seccomp.errno: \"EPREM\" is not the name of an error; did you mean \"EPERM\"?"},
	{"{\"seccomp\": {\"allow\": [\"open at\"]}}",
		"p:1:24: seccomp.allow[0]: \"open at\" is not the name of a system call"},
	{"{\"limits\": {\"wall_time\": 0}}",
		"p:1:13: limits.wall_time: 0 is below the least, 1ms; to lift the limit, say none"},
	{"{\"limits\": {\"wall_time\": -1}}", "p:1:13: limits.wall_time: a negative number"},
	{"{\"limits\": {\"wall_time\": 1e300}}", "p:1:13: limits.wall_time: a number beyond all bounds"},
	{"{\"limits\": {\"wall_time\": 9223372036854775807}}", "p:1:13: limits.wall_time: a number beyond all bounds"},
	{"{\"limits\": {\"wall_time\": \"0.5ms\"}}", "p:1:13: limits.wall_time: 0.5ms is below the least, 1ms"},
	{"{\"limits\": {\"memory\": 0}}", "p:1:13: limits.memory: 0 is below the least, 1M; to lift the limit, say none"},
	{"{\"limits\": {\"memory\": 1.5}}", "p:1:13: limits.memory: expected a whole number"},
	{"{\"limits\": {\"memory\": true}}",
		"p:1:13: limits.memory: expected a size such as \"512M\", or a number of bytes, or null, found true"},
	{"{\"limits\": {\"memory_strategy\": \"cgruop\"}}",
		"p:1:13: limits.memory_strategy: \"cgruop\" is not known here; did you mean \"cgroup\"?"},
	{"{\"limits\": {\"processes\": 0}}",
		"p:1:13: limits.processes: 0 is below the least, 1; to lift the limit, say none"},
	{"{\"limits\": {\"processes\": 4194305}}", "p:1:13: limits.processes: 4194305 is above the greatest, 4194304"},
	{"{\"limits\": {\"processes\": \"8\"}}",
		"p:1:13: limits.processes: expected a whole number, or null, found a string"},
	{"{\"limits\": {\"open_files\": 7}}", "p:1:13: limits.open_files: 7 is below the least, 8"},
	{"{\"limits\": {\"cpus\": 0.001}}", "p:1:13: limits.cpus: 0.001 is below the least, 0.01"},
	{"{\"limits\": {\"tmp_size\": \"4K\"}}", "p:1:13: limits.tmp_size: 4K is below the least, 64K"},
	{"{\"require\": [\"memory\"]}", "p:1:14: require[0]: unknown feature \"memory\"; did you mean \"limits.memory\"?"},
	{"{\"require\": [\"secomp\"]}", "p:1:14: require[0]: unknown feature \"secomp\"; did you mean \"seccomp\"?"},
	{"{\"require\": [\"limits.memory=watchdgo\"]}",
		"p:1:14: require[0]: \"watchdgo\" is not a mechanism of limits.memory; did you mean \"watchdog\"?"},
	{"{\"extends\": 1}", "p:1:2: extends: expected the name of a built-in or a file, found a number"},
	{"{\"extends\": \"\"}", "p:1:2: extends: expected the name of a built-in or a file, found an empty string"},
	{"{\"extends\": \":eavl\"}", "p:1:2: extends: no built-in policy \":eavl\"; did you mean \":eval\"?"},
	{"{\"extends\": \":secrets\"}", "p:1:2: extends: no built-in policy \":secrets\""},
};

Test(policy_document, refuses_with_place)
{
	for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = NULL;
		cleanup_diag struct diag diag = {};
		struct error err = {};

		cr_expect_eq(policy_document_parse(bad_texts[i].text, "p", NULL, &document, &diag, &err), -1, "%s",
			bad_texts[i].text);
		cr_expect_null(document);
		cr_expect_eq(err.code, ERROR_POLICY_INVALID);
		cr_expect_eq(diag.n, 1, "%s: %zu messages", bad_texts[i].text, diag.n);
		if (diag.n > 0)
			cr_expect_str_eq(diag.entries[0].text, bad_texts[i].message);
	}
}

/* Texts that load, but not all of which resolve; the message may be a warning. */
static const struct row contradictions[] = {
	{"{\"filesystem\": {\"deny\": [\"/s\"],\n \"write\": [\"/s/a/b\"]}}",
		"p:2:12: filesystem.write: \"/s/a/b\" lies inside the denied \"/s\" (p:1:26)"},
	{"{\"filesystem\": {\"deny\": [\"/s/./a//\"], \"write\": [\"/s/a/b\"]}}",
		"p:1:49: filesystem.write: \"/s/a/b\" lies inside the denied \"/s/a\" (p:1:26)"},
	{"{\"filesystem\": {\"deny\": [\"~\"], \"write\": [\"~/b\"]}}",
		"p:1:42: filesystem.write: \"~/b\" lies inside the denied \"~/\" (p:1:26)"},
	{"{\"filesystem\": {\"deny\": [\".\"], \"write\": [\"b\"]}}",
		"p:1:42: filesystem.write: \"b\" lies inside the denied \".\" (p:1:26)"},
	{"{\"filesystem\": {\"deny\": [\"/\"], \"write\": [\"/b\"]}}",
		"p:1:42: filesystem.write: \"/b\" lies inside the denied \"/\" (p:1:26)"},
	{"{\"seccomp\": {\"allow\": [\"mount\"], \"deny\": [\"read\", \"mount\"]}}",
		"p:1:51: seccomp.deny: \"mount\" is allowed too"},
	{"{\"limits\": {\"memory_strategy\": \"watchdog\"}, \"require\": [\"limits.memory=cgroup\"]}",
		"p:1:57: require: limits.memory=cgroup, but limits.memory_strategy is \"watchdog\""},
	{"{\"filesystem\": {\"write\": [\"/\"]}}",
		"warning p:1:27: filesystem.write: \"/\" makes all writable that the command's user may write"},
	{"{\"filesystem\": {\"write\": [\"/s\"], \"deny\": [\"/s/\"]}}",
		"warning p:1:27: filesystem.write: \"/s\" is in deny too, which wins"},
	{"{\"filesystem\": {\"write\": [\".\"], \"read\": [\"./\"]}}",
		"warning p:1:27: filesystem.write: \".\" is in read too, which wins"},
	{"{\"filesystem\": {\"read\": [\"/s/*.c\"]}}",
		"warning p:1:26: filesystem.read: \"/s/*.c\" is taken literally: only deny knows patterns"},
};

Test(policy_document, contradictions_across_fields)
{
	for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
		const struct row *row = &contradictions[i];
		bool warning = strncmp(row->message, "warning ", 8) == 0;
		cleanup_with(policy_document_freep) struct policy_document *document = NULL;
		const struct policy *policy = NULL;
		cleanup_diag struct diag diag = {};
		struct error err = {};

		harness_ok(policy_document_parse(row->text, "p", NULL, &document, &diag, &err), &err);
		cr_expect_eq(policy_document_resolve(document, &policy, &diag, &err), warning ? 0 : -1, "%s", row->text);
		cr_assert_eq(diag.n, 1, "%s: %zu messages", row->text, diag.n);
		cr_expect_eq(diag.entries[0].warning, warning);
		cr_expect_str_eq(diag.entries[0].text, row->message + (warning ? 8 : 0));
		if (warning) {
			cr_assert_eq(policy->n_warnings, 1);
			cr_expect_str_eq(policy->warnings[0], row->message + 8);
		}
	}
}

static const char *const fine_texts[] = {
	"{}",
	"{\"filesystem\": {\"deny\": [\"/s\"], \"read\": [\"/s/a\"], \"write\": [\"/sa\", \"/t/s\"]}}",
	"{\"filesystem\": {\"deny\": [\"**/.env\", \"/s/*\", \"~*/x\"], \"write\": [\"/s/a\"]}}",
	"{\"filesystem\": {\"write\": [\"~/.ssh/known\", \"/root/work\"]}}",
	"{\"filesystem\": {\"write\": [\"/s/../t\"], \"deny\": [\"/s\"]}}",
	"{\"filesystem\": {\"read\": [\"a\\nb\", \"./~bob\", \"..\"]}}",
	"{\"$schema\": \"x\", \"description\": \"y\", \"version\": 1}",
};

Test(policy_document, no_complaint_without_reason)
{
	for (size_t i = 0; i < sizeof fine_texts / sizeof *fine_texts; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = NULL;
		const struct policy *policy = NULL;
		cleanup_diag struct diag diag = {};
		struct error err = {};

		harness_ok(policy_document_parse(fine_texts[i], "p", NULL, &document, &diag, &err), &err);
		harness_ok(policy_document_resolve(document, &policy, &diag, &err), &err);
		cr_expect_eq(diag.n, 0, "%s: %s", fine_texts[i], diag.n > 0 ? diag.entries[0].text : "");
	}
}

Test(policy_document, all_mistakes_at_once_in_order)
{
	static const char text[] =
		"{\n \"backend\": \"x\",\n \"limits\": {\"memry\": 1, \"cpus\": \"y\"},\n \"backend\": \"auto\"\n}";
	static const char *const starts[] = {"p:4:2: duplicate", "p:3:13: limits.memry", "p:3:25: limits.cpus"};
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	cr_assert_eq(policy_document_parse(text, "p", NULL, &document, &diag, &err), -1);
	cr_assert_eq(diag.n_errors, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(strncmp(diag.entries[i].text, starts[i], strlen(starts[i])), 0, "%s", diag.entries[i].text);
	cr_expect_not_null(strstr(err.text, "(and 2 more)"));
}

Test(policy_document, every_form_of_a_value)
{
	static const char text[] =
		"{\"backend\": \"namespaces\", \"enforcement\": \"best-effort\","
		" \"filesystem\": {\"root\": \"/srv//rootfs/\", \"bind\": [{\"source\": \"a/./b\", \"target\": \"/b/\", \"write\": true}],"
		"   \"tmpfs\": [{\"path\": \"/t\"}, {\"path\": \"c\", \"size\": \"1.5M\"}]},"
		" \"network\": {\"mode\": \"host\"},"
		" \"process\": {\"env\": {\"pass\": [\"A*\"], \"set\": {\"B\": \"c=d\", \"E\": \"\"}}, \"hostname\": \"a.b-c\","
		"   \"identity\": \"caller\", \"nested_namespaces\": true},"
		" \"seccomp\": {\"profile\": \":strict\", \"allow\": [\"bpf\"], \"deny\": [\"read\", \"clone3\"], \"errno\": \"ENOSYS\"},"
		" \"limits\": {\"wall_time\": 1.5, \"cpu_time\": \"2m\", \"memory\": 1048576, \"swap\": 0, \"memory_strategy\": \"cgroup\","
		"   \"processes\": 1, \"cpus\": 0.5, \"file_size\": null, \"open_files\": 8, \"tmp_size\": \"none\", \"output\": 0},"
		" \"require\": [\"network\", \"limits.cpu_time=cgroup-base\"]}";
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	const struct policy *policy = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_parse(text, "p", NULL, &document, &diag, &err), &err);
	harness_ok(policy_document_resolve(document, &policy, &diag, &err), &err);
	cr_expect_str_eq(policy->name, "p");
	cr_expect_eq(policy->backend, BACKEND_NAMESPACES);
	cr_expect_eq(policy->enforcement, ENFORCEMENT_BEST_EFFORT);
	cr_expect_eq(policy->root, ROOT_DIRECTORY);
	cr_expect_str_eq(policy->root_directory, "/srv/rootfs");
	cr_assert_eq(policy->n_binds, 1);
	cr_expect_str_eq(policy->binds[0].source, "a/b");
	cr_expect_str_eq(policy->binds[0].target, "/b");
	cr_expect(policy->binds[0].write);
	cr_assert_eq(policy->n_tmpfs, 2);
	cr_expect_eq(policy->tmpfs[0].size_bytes, LIMIT_NONE);
	cr_expect_eq(policy->tmpfs[1].size_bytes, 1536 * 1024);
	cr_expect_eq(policy->network, NETWORK_HOST);
	cr_expect_str_eq(policy->env_pass[policy->n_env_pass - 1], "A*");
	cr_assert_eq(policy->n_env_set, 2);
	cr_expect_str_eq(policy->env_set[0].name, "B");
	cr_expect_str_eq(policy->env_set[0].value, "c=d");
	cr_expect_str_eq(policy->env_set[1].value, "");
	cr_expect_str_eq(policy->hostname, "a.b-c");
	cr_expect_eq(policy->identity, IDENTITY_CALLER);
	cr_expect(policy->nested_namespaces);
	cr_expect_str_eq(policy->seccomp_profile, ":strict");
	cr_assert_eq(policy->n_seccomp_allow, 1);
	cr_assert_eq(policy->n_seccomp_deny, 2);
	cr_expect_str_eq(policy->seccomp_deny[1], "clone3");
	cr_expect_eq(policy->seccomp_errno, ENOSYS);
	cr_expect_eq(policy->limits.wall_ns, 1500000000);
	cr_expect_eq(policy->limits.cpu_ns, 120000000000);
	cr_expect_eq(policy->limits.memory_bytes, 1048576);
	cr_expect_eq(policy->limits.swap_bytes, 0);
	cr_expect_eq(policy->limits.memory_strategy, MEMORY_CGROUP);
	cr_expect_eq(policy->limits.processes, 1);
	cr_expect_eq(policy->limits.cpus_milli, 500);
	cr_expect_eq(policy->limits.file_size_bytes, LIMIT_NONE);
	cr_expect_eq(policy->limits.open_files, 8);
	cr_expect_eq(policy->limits.tmp_size_bytes, LIMIT_NONE);
	cr_expect_eq(policy->limits.output_bytes, 0);
	cr_assert_eq(policy->n_require, 2);
	cr_expect_null(policy->require[0].mechanism);
	cr_expect_str_eq(policy->require[1].feature, "limits.cpu_time");
	cr_expect_str_eq(policy->require[1].mechanism, "cgroup-base");
}

Test(policy_document, larger_than_a_megabyte_is_refused)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	cleanup_buf struct buf text = {};
	struct error err = {};

	buf_append_str(&text, "{}");
	while (text.size <= 1024 * 1024)
		buf_append_char(&text, ' ');
	cr_assert_eq(policy_document_parse(buf_str(&text), "p", NULL, &document, &diag, &err), -1);
	cr_expect_str_eq(diag.entries[0].text, "p:1:1: larger than a policy can be (1 MiB)");
}

static void append_list(struct buf *text, const char *field, unsigned n)
{
	buf_printf(text, "{\"filesystem\": {\"%s\": [", field);
	for (unsigned i = 0; i < n; i++)
		buf_printf(text, "%s\"/a/%u\"", i == 0 ? "" : ",", i);
	buf_append_str(text, "]}}");
}

Test(policy_document, many_entries_are_quick_and_bounded, .timeout = 30)
{
	static const struct {
		unsigned n;
		bool fine;
	} rows[] = {{20000, true}, {32768, true}, {32769, false}, {80000, false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = NULL;
		const struct policy *policy = NULL;
		cleanup_diag struct diag diag = {};
		cleanup_buf struct buf text = {};
		struct error err = {};
		int r;

		append_list(&text, "deny", rows[i].n);
		r = policy_document_parse(buf_str(&text), "p", NULL, &document, &diag, &err);
		if (r == 0)
			r = policy_document_resolve(document, &policy, &diag, &err);
		cr_expect_eq(r, rows[i].fine ? 0 : -1, "%u entries", rows[i].n);
		cr_expect_eq(diag.n, rows[i].fine ? 0 : 1);
	}
}
