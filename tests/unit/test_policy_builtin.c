/* The built-ins: each resolves, promises what its description says, and can be read back from what is shown of it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sha256.h"
#include "runtime/policy/document.h"
#include "tests/unit/digest_of.h"
#include "tests/unit/harness.h"

TestSuite(policy_builtin, .fini = harness_leak_check);

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
	cr_expect_eq(diag.n, 0, "%s", diag.n > 0 ? diag.entries[0].text : "");
	return policy;
}

static bool has_path(const struct policy *policy, enum policy_access access, const char *path)
{
	for (size_t i = 0; i < policy->n_paths; i++)
		if (policy->paths[i].access == access && strcmp(policy->paths[i].path, path) == 0)
			return true;
	return false;
}

static size_t count(const struct policy *policy, enum policy_access access)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n_paths; i++)
		n += policy->paths[i].access == access;
	return n;
}

Test(policy_builtin, the_list)
{
	static const char *const names[] = {
		":read-only", ":workspace-write", ":eval", ":strict", ":unconfined", ":archive", ":git"};
	const size_t n = sizeof names / sizeof *names;

	for (size_t i = 0; i < n; i++) {
		cr_assert_str_eq(policy_builtin_name(i), names[i]);
		cr_expect_gt(strlen(policy_builtin_summary(i)), 20);
	}
	cr_expect_null(policy_builtin_name(n));
	cr_expect_null(policy_builtin_summary(n));
	cr_expect_null(policy_builtin_name(SIZE_MAX));
}

Test(policy_builtin, each_stands_on_the_secrets)
{
	static const char *const secrets[] = {"/etc/shadow", "/root", "~*/.ssh", "~*/.aws", "~*/.netrc", "~*/.docker",
		"~*/.claude/.credentials.json", "~*/.bash_history"};

	for (size_t i = 0; policy_builtin_name(i) != NULL; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = load(policy_builtin_name(i));
		const struct policy *policy = resolve(document);

		cr_expect_str_eq(policy->name, policy_builtin_name(i));
		for (size_t j = 0; j < sizeof secrets / sizeof *secrets; j++)
			cr_expect(has_path(policy, ACCESS_DENY, secrets[j]), "%s: %s", policy->name, secrets[j]);
		for (size_t j = 0; j < policy->n_paths; j++) {
			cr_expect(policy->paths[j].optional, "%s: %s", policy->name, policy->paths[j].path);
			cr_expect_eq(policy->paths[j].secret, policy->paths[j].access == ACCESS_DENY, "%s: %s",
				policy->name, policy->paths[j].path);
		}
	}
}

Test(policy_builtin, a_policy_without_extends_is_read_only)
{
	cleanup_with(policy_document_freep) struct policy_document *base = load(":read-only");
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_parse("{}", "p", NULL, &document, &diag, &err), &err);
	cr_expect_str_eq(digest_of(resolve(document)), digest_of(resolve(base)));
}

Test(policy_builtin, read_only)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":read-only");
	const struct policy *policy = resolve(document);

	cr_expect_eq(policy->backend, BACKEND_AUTO);
	cr_expect_eq(policy->enforcement, ENFORCEMENT_STRICT);
	cr_expect_eq(policy->root, ROOT_HOST);
	cr_expect_eq(policy->network, NETWORK_NONE);
	cr_expect_eq(policy->identity, IDENTITY_AUTO);
	cr_expect_not(policy->nested_namespaces);
	cr_expect_eq(count(policy, ACCESS_WRITE), 0);
	cr_expect_eq(count(policy, ACCESS_READ), 0, "read wins over write: no extension could make it writable");
	cr_expect_eq(policy->n_binds + policy->n_tmpfs + policy->n_env_set + policy->n_require, 0);
	cr_expect_eq(policy->limits.wall_ns, 60000000000);
	cr_expect_eq(policy->limits.output_bytes, 1 << 20);
	cr_expect_neq(policy->limits.memory_bytes, LIMIT_NONE);
	cr_expect_neq(policy->limits.processes, LIMIT_NONE);
	cr_expect_neq(policy->limits.tmp_size_bytes, LIMIT_NONE);
}

Test(policy_builtin, workspace_write_protects_what_runs_outside)
{
	static const char *const protected[] = {".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir",
		".git/gitdir", ".git/modules", ".git/info/attributes", ".git/objects/info/alternates", ".mcp.json",
		".claude", ".codex", ".cursor", ".vscode", ".idea", ".envrc", ".gitconfig"};
	static const char *const names[] = {":workspace-write", ":eval"};

	for (size_t i = 0; i < 2; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = load(names[i]);
		const struct policy *policy = resolve(document);

		cr_expect_eq(count(policy, ACCESS_WRITE), 1);
		cr_expect(has_path(policy, ACCESS_WRITE, "."));
		for (size_t j = 0; j < sizeof protected / sizeof *protected; j++)
			cr_expect(has_path(policy, ACCESS_PROTECT, protected[j]), "%s: %s", names[i], protected[j]);
		cr_expect_not(has_path(policy, ACCESS_PROTECT, ".gitmodules"));
		cr_expect_not(has_path(policy, ACCESS_PROTECT, ".git"), "git could not commit");
	}
}

Test(policy_builtin, eval_limits_everything)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":eval");
	const struct policy *policy = resolve(document);
	const struct policy_limits *limits = &policy->limits;
	const uint64_t set[] = {limits->wall_ns, limits->cpu_ns, limits->memory_bytes, limits->processes,
		limits->cpus_milli, limits->file_size_bytes, limits->open_files, limits->tmp_size_bytes,
		limits->output_bytes};

	cr_expect_eq(policy->root, ROOT_SYSTEM);
	cr_expect_eq(policy->network, NETWORK_NONE);
	cr_expect_eq(limits->swap_bytes, 0);
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		cr_expect_neq(set[i], LIMIT_NONE, "%zu", i);
}

Test(policy_builtin, strict_and_unconfined)
{
	cleanup_with(policy_document_freep) struct policy_document *strict = load(":strict");
	cleanup_with(policy_document_freep) struct policy_document *unconfined = load(":unconfined");

	cr_expect_eq(resolve(strict)->root, ROOT_SYSTEM);
	cr_expect_str_eq(resolve(strict)->seccomp_profile, ":strict");
	cr_expect_eq(count(resolve(strict), ACCESS_WRITE), 0);
	cr_expect_eq(resolve(unconfined)->backend, BACKEND_NONE);
	cr_expect_eq(resolve(unconfined)->network, NETWORK_HOST);
}

Test(policy_builtin, archive_writes_the_workspace_and_no_more)
{
	cleanup_with(policy_document_freep) struct policy_document *archive = load(":archive");

	cr_expect_eq(resolve(archive)->root, ROOT_SYSTEM);
	cr_expect_eq(resolve(archive)->network, NETWORK_NONE);
	cr_expect_str_eq(resolve(archive)->seccomp_profile, ":strict");
	cr_expect_eq(count(resolve(archive), ACCESS_WRITE), 1);
}

Test(policy_builtin, git_writes_the_workspace_and_has_no_network_of_itself)
{
	cleanup_with(policy_document_freep) struct policy_document *git = load(":git");

	cr_expect_eq(resolve(git)->root, ROOT_SYSTEM);
	cr_expect_eq(resolve(git)->network, NETWORK_NONE);
	cr_expect_eq(count(resolve(git), ACCESS_WRITE), 1);
}

/* What is shown is itself a policy, and means the same. */
Test(policy_builtin, what_is_shown_can_be_read_back)
{
	for (size_t i = 0; policy_builtin_name(i) != NULL; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = load(policy_builtin_name(i));
		cleanup_with(policy_document_freep) struct policy_document *again = NULL;
		cleanup_diag struct diag diag = {};
		cleanup_free char *shown = NULL;
		cleanup_free char *text = NULL;
		cleanup_json json_t *json = NULL;
		struct error err = {};

		harness_ok(policy_document_json(document, &shown, &err), &err);
		json = json_loads(shown, JSON_REJECT_DUPLICATES, NULL);
		cr_assert_not_null(json);
		cr_expect_str_eq(json_string_value(json_object_get(json, "schema")), "pinfold.policy/1");
		cr_expect_str_eq(json_string_value(json_object_get(json, "name")), policy_builtin_name(i));
		text = json_to_string(json_object_get(json, "policy"), 1);
		harness_ok(policy_document_parse(text, "shown", NULL, &again, &diag, &err), &err);
		for (size_t j = 0; j < resolve(document)->n_paths; j++) {
			const struct policy_path *path = &resolve(document)->paths[j];

			cr_expect(has_path(resolve(again), path->access, path->path), "%s", path->path);
		}
		cr_expect_eq(resolve(again)->limits.memory_bytes, resolve(document)->limits.memory_bytes);
	}
}

/* The digest, made without the document, is that of the document. */
Test(policy_builtin, the_digest_is_that_of_what_is_shown)
{
	for (size_t i = 0; policy_builtin_name(i) != NULL; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = load(policy_builtin_name(i));
		cleanup_diag struct diag diag = {};
		cleanup_free char *shown = NULL;
		cleanup_free char *canonical = NULL;
		cleanup_json json_t *json = NULL;
		struct error err = {};
		char hex[65];

		harness_ok(policy_document_set(document, "process.env.set", "Z=\"\\\n\xff", "-e", &diag, &err), &err);
		harness_ok(policy_document_set(document, "process.env.set", "A=1", "-e", &diag, &err), &err);
		harness_ok(policy_document_set(document, "filesystem.read", "/\"\\\x7f\xc3\xa9\xff\n", "-r", &diag, &err),
			&err);
		harness_ok(policy_document_set(document, "limits.cpus", "1.25", "-c", &diag, &err), &err);
		harness_ok(policy_document_set(document, "filesystem.bind", "/a:/b", "-b", &diag, &err), &err);
		harness_ok(policy_document_json(document, &shown, &err), &err);
		json = json_loads(shown, 0, NULL);
		canonical = json_to_canonical(json_object_get(json, "policy"));
		cr_assert_not_null(canonical);
		sha256_hex(canonical, strlen(canonical), hex);
		cr_expect_str_eq(digest_of(resolve(document)) + strlen("sha256:"), hex);
		cr_expect_str_eq(json_string_value(json_object_get(json, "digest")), digest_of(resolve(document)));
	}
}

/* The table is not read by the parser, so what the parser would refuse or change is looked for here. */
Test(policy_builtin, the_table_of_secrets_is_well_formed)
{
	cleanup_with(policy_document_freep) struct policy_document *document = load(":read-only");
	cleanup_with(policy_document_freep) struct policy_document *other = load(":read-only");
	const struct policy *policy = resolve(document);
	struct error err = {};

	for (size_t i = 0; i < policy->n_paths; i++) {
		const char *path = policy->paths[i].path;
		cleanup_diag struct diag diag = {};

		if (!policy->paths[i].secret)
			continue;
		cr_expect(path[0] == '/' || strncmp(path, "~*/", 3) == 0, "%s", path);
		cr_expect_null(strpbrk(path + 3, "*?["), "%s", path);
		cr_expect_null(strstr(path, "//"), "%s", path);
		cr_expect_null(strstr(path, "/./"), "%s", path);
		cr_expect_neq(path[strlen(path) - 1], '/', "%s", path);
		harness_ok(policy_document_set(other, "filesystem.deny", path, "-x", &diag, &err), &err);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(path, policy->paths[j].path);
	}
}
