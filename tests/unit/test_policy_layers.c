/* Layers: extends, flags, origins; and the property that no layer takes back what one below denies or protects. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/policy/document.h"
#include "tests/unit/digest_of.h"
#include "tests/unit/harness.h"

static char directory[200];
static int dirfd_ = -1;

static void setup(void)
{
	dirfd_ = harness_tmpdir(directory, sizeof directory);
}

static void teardown(void)
{
	close(dirfd_);
	harness_rm_tree(directory);
	harness_leak_check();
}

TestSuite(policy_layers, .init = setup, .fini = teardown);

static void write_file(const char *name, const char *text)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static const char *path_of(const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

static struct policy_document *load(const char *name)
{
	struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_load(name, &document, &diag, &err), &err);
	return document;
}

static const struct policy *resolve(struct policy_document *document)
{
	const struct policy *policy = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_resolve(document, &policy, &diag, &err), &err);
	return policy;
}

static void set(struct policy_document *document, const char *field, const char *value, const char *origin)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_set(document, field, value, origin, &diag, &err), &err);
}

static void expect_origin(struct policy_document *document, const char *pointer, const char *origin)
{
	cleanup_free char *text = NULL;
	cleanup_json json_t *json = NULL;
	const char *found;
	struct error err = {};

	harness_ok(policy_document_json(document, &text, &err), &err);
	json = json_loads(text, 0, NULL);
	cr_assert_not_null(json);
	found = json_string_value(json_object_get(json_object_get(json, "origins"), pointer));
	cr_expect_str_eq(found != NULL ? found : "(none)", origin, "%s", pointer);
}

static size_t count_paths(const struct policy *policy, enum policy_access access, bool shipped)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_paths; i++)
		n += policy->paths[i].access == access && policy->paths[i].optional == shipped;
	return n;
}

Test(policy_layers, scalars_replace_lists_append_origins_follow)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	const struct policy *policy;
	char origin[320];

	write_file("base.json",
		"{\n \"limits\": {\n  \"memory\": \"1G\",\n  \"processes\": 7},\n"
		" \"filesystem\": {\"deny\": [\"/a\"]}}");
	mkdirat(dirfd_, "sub", 0700);
	write_file("sub/top.json",
		"{\"extends\": \"../base.json\",\n \"limits\": {\"memory\": \"2G\"},\n"
		" \"filesystem\": {\"deny\": [\"/b\",\n \"/c\"]},\n"
		" \"process\": {\"env\": {\"set\": {\"A/~\": \"1\"}}}}");
	document = load(path_of("sub/top.json"));
	set(document, "filesystem.deny", "/d", "--deny");
	set(document, "limits.cpus", "2", "--cpus");
	policy = resolve(document);
	cr_expect_eq(policy->limits.memory_bytes, 2ull << 30);
	cr_expect_eq(policy->limits.processes, 7);
	cr_expect_eq(policy->limits.wall_ns, 60000000000);
	cr_expect_eq(count_paths(policy, ACCESS_DENY, false), 4);
	(void)snprintf(origin, sizeof origin, "%s/sub/top.json:2", directory);
	expect_origin(document, "/limits/memory", origin);
	(void)snprintf(origin, sizeof origin, "%s/sub/../base.json:4", directory);
	expect_origin(document, "/limits/processes", origin);
	(void)snprintf(origin, sizeof origin, "%s/sub/top.json:5", directory);
	expect_origin(document, "/process/env/set/A~1~0", origin);
	expect_origin(document, "/limits/cpus", "--cpus");
	expect_origin(document, "/limits/wall_time", "built-in :read-only");
	expect_origin(document, "/filesystem/deny/0", "built-in secrets");
}

Test(policy_layers, text_shows_value_and_origin)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":read-only");
	cleanup_free char *text = NULL;
	struct error err = {};

	set(document, "limits.memory", "none", "--memory");
	set(document, "process.env.set", "A=\x1b[31m", "--env");
	harness_ok(policy_document_text(document, &text, &err), &err);
	cr_expect_not_null(strstr(text, "\nlimits.memory              none "));
	cr_expect_not_null(strstr(text, " --memory\n"));
	cr_expect_not_null(strstr(text, "\nlimits.wall_time           60s "));
	cr_expect_not_null(strstr(text, " built-in :read-only\n"));
	cr_expect_null(strchr(text, '\x1b'), "a control character reached the terminal");
}

Test(policy_layers, later_flags_win_and_keys_replace)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":read-only");
	const struct policy *policy;

	set(document, "limits.wall_time", "5s", "--timeout");
	set(document, "limits.wall_time", "none", "--timeout");
	set(document, "filesystem.tmpfs", "/t:1M", "--tmpfs");
	set(document, "filesystem.tmpfs", "/t/:2M", "--tmpfs");
	set(document, "filesystem.tmpfs", "/u", "--tmpfs");
	set(document, "process.env.set", "A=1", "--env");
	set(document, "process.env.set", "A=2=3", "--env");
	set(document, "filesystem.bind", "/a:/b:rw", "bind");
	set(document, "filesystem.bind", "/c:/b", "bind");
	set(document, "require", "network,limits.memory=watchdog", "--require");
	policy = resolve(document);
	cr_expect_eq(policy->limits.wall_ns, LIMIT_NONE);
	cr_assert_eq(policy->n_tmpfs, 2);
	cr_expect_eq(policy->tmpfs[0].size_bytes, 2 << 20);
	cr_expect_eq(policy->tmpfs[1].size_bytes, LIMIT_NONE);
	cr_assert_eq(policy->n_env_set, 1);
	cr_expect_str_eq(policy->env_set[0].value, "2=3");
	cr_assert_eq(policy->n_binds, 1);
	cr_expect_str_eq(policy->binds[0].source, "/c");
	cr_expect_not(policy->binds[0].write);
	cr_assert_eq(policy->n_require, 2);
	cr_expect_str_eq(policy->require[1].mechanism, "watchdog");
}

struct flag {
	const char *field, *value, *message;
};

static const struct flag bad_flags[] = {
	{"limits.memry", "1G", "-x: limits.memry: unknown field; did you mean \"limits.memory\"?"},
	{"version", "1", "-x: version: unknown field"},
	{"limits", "1", "-x: limits: unknown field"},
	{"limits.memory", "0", "-x: limits.memory: 0 is below the least, 1M; to lift the limit, say none"},
	{"limits.processes", "0", "-x: limits.processes: 0 is below the least, 1; to lift the limit, say none"},
	{"filesystem.write", "", "-x: filesystem.write: an empty path"},
	{"filesystem.bind", "/a", "-x: filesystem.bind: expected SOURCE:TARGET or SOURCE:TARGET:rw"},
	{"filesystem.bind", "/a:/b:rx", "-x: filesystem.bind: expected SOURCE:TARGET or SOURCE:TARGET:rw"},
	{"process.env.set", "SECRET", "-x: process.env.set: expected NAME=VALUE"},
	{"process.env.set", "=v", "-x: process.env.set: the name of a variable is not empty and has no '='"},
	{"require", "network,", "-x: require: unknown feature \"\"; `pinfold check` lists them"},
	{"filesystem.tmpfs", "/t:0", "-x: filesystem.tmpfs: 0 is below the least, 64K; to lift the limit, say none"},
	{"limits.output", "none of it", NULL},
	{"limits.wall_time", "0", NULL},
	{"filesystem.tmpfs", "/t:", NULL},
	{"filesystem.tmpfs", "/t:1x", NULL},
};

Test(policy_layers, bad_flags_are_usage_errors_and_change_nothing)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":read-only");
	cleanup_free char *before = NULL;
	cleanup_free char *after = NULL;
	struct error err = {};

	harness_ok(policy_document_json(document, &before, &err), &err);
	for (size_t i = 0; i < sizeof bad_flags / sizeof *bad_flags; i++) {
		const struct flag *flag = &bad_flags[i];
		cleanup_diag struct diag diag = {};

		cr_expect_eq(policy_document_set(document, flag->field, flag->value, "-x", &diag, &err), -1, "%s=%s",
			flag->field, flag->value);
		cr_expect_eq(err.code, ERROR_USAGE);
		cr_assert_eq(diag.n_errors, 1);
		cr_expect_eq(strncmp(diag.entries[0].text, "-x: ", 4), 0);
		if (flag->message != NULL)
			cr_expect_str_eq(diag.entries[0].text, flag->message);
	}
	/* The first of two requirements was fine, and stays; all else is as it was. */
	harness_ok(policy_document_clear(document, "require", "-x", &(struct diag){}, &err), &err);
	harness_ok(policy_document_json(document, &after, &err), &err);
	cr_expect_str_eq(before, after);
}

Test(policy_layers, clearing)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":workspace-write");
	static const char *const refused[] = {"filesystem.deny", "filesystem.protect", "limits.memory", "nothing"};
	struct error err = {};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		cleanup_diag struct diag diag = {};

		cr_expect_eq(policy_document_clear(document, refused[i], "-x", &diag, &err), -1, "%s", refused[i]);
	}
	harness_ok(policy_document_clear(document, "process.env.pass", "--clear-env", &(struct diag){}, &err), &err);
	set(document, "process.env.pass", "ONLY", "--env");
	cr_assert_eq(resolve(document)->n_env_pass, 1);
	cr_expect_str_eq(resolve(document)->env_pass[0], "ONLY");
}

Test(policy_layers, what_is_asked_by_name_is_no_longer_optional)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":workspace-write");
	size_t before = resolve(document)->n_paths;
	bool found = false;

	set(document, "filesystem.protect", ".vscode/", "--protect");
	cr_expect_eq(resolve(document)->n_paths, before);
	for (size_t i = 0; i < before; i++) {
		const struct policy_path *path = &resolve(document)->paths[i];

		if (strcmp(path->path, ".vscode") != 0)
			continue;
		found = true;
		cr_expect_not(path->optional);
	}
	cr_expect(found);
}

/* "@" in message is the directory. */
static void expect_refused(const char *name, const char *message)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};
	cleanup_buf struct buf text = {};

	for (; *message != '\0'; message++) {
		if (*message == '@')
			buf_append_str(&text, directory);
		else
			buf_append_char(&text, *message);
	}
	cr_expect_eq(policy_document_load(name, &document, &diag, &err), -1, "%s", name);
	cr_expect_eq(err.code, ERROR_POLICY_INVALID);
	cr_assert_eq(diag.n_errors, 1);
	cr_expect_str_eq(diag.entries[0].text, buf_str(&text));
}

Test(policy_layers, extends_cycles_are_refused_by_name)
{
	write_file("self.json", "{\"extends\": \"self.json\"}");
	write_file("a.json", "{\"extends\": \"b.json\"}");
	write_file("b.json", "{\n  \"extends\": \"link.json\"}");
	cr_assert_eq(symlinkat("a.json", dirfd_, "link.json"), 0);
	expect_refused(path_of("self.json"),
		"@/self.json:1:2: extends: a policy cannot extend itself: "
		"@/self.json -> @/self.json");
	expect_refused(path_of("a.json"),
		"@/b.json:2:3: extends: a policy cannot extend itself: "
		"@/a.json -> @/b.json -> @/link.json");
}

Test(policy_layers, extends_chains_are_bounded)
{
	for (int i = 0; i < 40; i++) {
		char name[20];
		char text[60];

		(void)snprintf(name, sizeof name, "%d.json", i);
		(void)snprintf(text, sizeof text, i < 39 ? "{\"extends\": \"%d.json\"}" : "{}", i + 1);
		write_file(name, text);
	}
	expect_refused(path_of("0.json"), "@/15.json:1:2: extends: more than 16 policies extend each other");
	policy_document_free(load(path_of("24.json")));
}

Test(policy_layers, extends_of_what_cannot_be_read)
{
	write_file("missing.json", "{\"extends\": \"none.json\"}");
	write_file("directory.json", "{\"extends\": \".\"}");
	write_file("fifo.json", "{\"extends\": \"fifo\"}");
	cr_assert_eq(mkfifoat(dirfd_, "fifo", 0600), 0);
	expect_refused(path_of("missing.json"),
		"@/missing.json:1:2: extends: @/none.json: cannot be read: "
		"No such file or directory (ENOENT)");
	expect_refused(path_of("directory.json"), "@/directory.json:1:2: extends: @/.: not a file");
	expect_refused(path_of("fifo.json"), "@/fifo.json:1:2: extends: @/fifo: not a file");
	expect_refused(path_of("absent"), "@/absent: cannot be read: No such file or directory (ENOENT)");
	expect_refused(directory, "@: not a file");
	expect_refused(":read-onyl", "no built-in policy \":read-onyl\"; did you mean \":read-only\"?");
}

Test(policy_layers, mistakes_below_and_above_are_told_together)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	write_file("low.json", "{\"bakend\": 1}");
	write_file("high.json", "{\"extends\": \"low.json\", \"limts\": {}}");
	cr_assert_eq(policy_document_load(path_of("high.json"), &document, &diag, &err), -1);
	cr_assert_eq(diag.n_errors, 2);
	cr_expect_not_null(strstr(diag.entries[0].text, "/low.json:1:2: bakend"));
	cr_expect_not_null(strstr(diag.entries[1].text, "/high.json:1:25: limts"));
}

Test(policy_layers, a_profile_file_is_relative_to_the_policy)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	char expected[320];

	write_file("p.json", "{\"seccomp\": {\"profile\": \"calls.json\"}}");
	document = load(path_of("p.json"));
	(void)snprintf(expected, sizeof expected, "%s/calls.json", directory);
	cr_expect_str_eq(resolve(document)->seccomp_profile, expected);
}

static bool has_path(const struct policy *policy, enum policy_access access, const char *path)
{
	for (size_t i = 0; i < policy->n_paths; i++)
		if (policy->paths[i].access == access && strcmp(policy->paths[i].path, path) == 0)
			return true;
	return false;
}

/* Whatever stands in the layers above, everything denied or protected below is there still. */
Test(policy_layers, deny_and_protect_never_shrink)
{
	static const char *const tops[] = {
		"{\"extends\": \"low.json\"}",
		"{\"extends\": \"low.json\", \"filesystem\": {\"deny\": [], \"protect\": []}}",
		"{\"extends\": \"low.json\", \"filesystem\": {\"read\": [\"/d1\", \"~/.ssh\"], \"write\": [\"p1\"]}}",
		"{\"extends\": \"low.json\", \"filesystem\": {\"deny\": [\"/d1\", \"/x\"], \"protect\": [\"p1\", \".git\"]}}",
		"{\"extends\": \"low.json\", \"filesystem\": {\"root\": \"system\"}, \"backend\": \"none\"}",
	};
	cleanup_with(policy_document_freep) struct policy_document *low = NULL;

	write_file("low.json",
		"{\"extends\": \":workspace-write\","
		" \"filesystem\": {\"deny\": [\"/d1\", \"/d2\", \"**/.env\"], \"protect\": [\"p1\", \"p2\"]}}");
	low = load(path_of("low.json"));
	for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
		cleanup_with(policy_document_freep) struct policy_document *top = NULL;
		const struct policy *below = resolve(low);

		write_file("top.json", tops[i]);
		top = load(path_of("top.json"));
		for (size_t j = 0; j < below->n_paths; j++) {
			enum policy_access access = below->paths[j].access;

			if (access == ACCESS_DENY || access == ACCESS_PROTECT)
				cr_expect(has_path(resolve(top), access, below->paths[j].path), "%s: %s", tops[i],
					below->paths[j].path);
		}
	}
}

Test(policy_layers, the_digest_tells_content_not_spelling)
{
	cleanup_with(policy_document_freep) struct policy_document *a = NULL;
	cleanup_with(policy_document_freep) struct policy_document *b = NULL;
	cleanup_with(policy_document_freep) struct policy_document *c = NULL;

	write_file("a.json", "{\"limits\": {\"memory\": \"1G\", \"wall_time\": \"1m\"}}");
	write_file("b.json", "{ // other words\n \"limits\": {\"wall_time\": 60.0, \"memory\": 1073741824}}");
	write_file("c.json", "{\"limits\": {\"memory\": 1073741825}}");
	a = load(path_of("a.json"));
	b = load(path_of("b.json"));
	c = load(path_of("c.json"));
	cr_expect_eq(strlen(digest_of(resolve(a))), strlen("sha256:") + 64);
	cr_expect_str_eq(digest_of(resolve(a)), digest_of(resolve(b)));
	cr_expect_str_neq(digest_of(resolve(a)), digest_of(resolve(c)));
}
