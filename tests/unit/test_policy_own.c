/* What a document has of its own, said again on top of its built-in, is the same policy: to its digest, and to what the
 * digest does not know, which is the entries that are skipped where they are missing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "runtime/policy/document.h"
#include "tests/unit/digest_of.h"
#include "tests/unit/harness.h"
#include "tests/unit/policy_maker.h"

#define SEEDS 400

TestSuite(policy_own, .fini = harness_leak_check);

static struct policy_document *parse(const char *text)
{
	struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	return policy_document_parse(text, "p", "/policies", &document, &diag, &err) == 0 ? document : NULL;
}

static const struct policy *resolve(struct policy_document *document)
{
	const struct policy *policy = NULL;
	cleanup_diag struct diag diag = {};
	struct error err = {};

	return policy_document_resolve(document, &policy, &diag, &err) == 0 ? policy : NULL;
}

static void set(struct policy_document *document, const char *field, const char *value)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_set(document, field, value, "--flag", &diag, &err), &err);
}

static void clear(struct policy_document *document, const char *field)
{
	cleanup_diag struct diag diag = {};
	struct error err = {};

	harness_ok(policy_document_clear(document, field, "--flag", &diag, &err), &err);
}

static struct policy_document *say_again(const struct policy_own *own)
{
	struct policy_document *document = parse(own->text);

	cr_assert_not_null(document, "%s", own->text);
	if (own->pass_cleared)
		clear(document, "process.env.pass");
	for (size_t i = 0; i < own->n_pass; i++)
		set(document, "process.env.pass", own->pass[i]);
	for (size_t i = 0; i < own->n_set; i++) {
		char entry[200];

		(void)snprintf(entry, sizeof entry, "%s=%s", own->set[i].name, own->set[i].value);
		set(document, "process.env.set", entry);
	}
	return document;
}

static void expect_same(const struct policy *one, const struct policy *other, const char *text)
{
	cr_assert_str_eq(digest_of(one), digest_of(other), "%s", text);
	cr_assert_eq(one->n_paths, other->n_paths, "%s", text);
	for (size_t i = 0; i < one->n_paths; i++) {
		const struct policy_path *a = &one->paths[i], *b = &other->paths[i];

		cr_assert(strcmp(a->path, b->path) == 0 && a->access == b->access, "%s: %s", text, a->path);
		cr_assert(a->optional == b->optional && a->secret == b->secret, "%s: %s", text, a->path);
	}
}

static void expect_said_again(struct policy_document *document)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_with(policy_document_freep) struct policy_document *again = NULL;
	struct policy_own own = {};
	struct error err = {};

	harness_ok(arena_new(&arena, &err), &err);
	harness_ok(policy_document_own(document, arena, &own, &err), &err);
	again = say_again(&own);
	expect_same(resolve(document), resolve(again), own.text);
}

Test(policy_own, every_kind_of_value)
{
	static const char *const texts[] = {
		"{}",
		"{\"extends\": \":eval\"}",
		"{\"extends\": \":workspace-write\", \"filesystem\": {\"protect\": [\".git/hooks\", \"x\"], \"write\": [\".\"]}}",
		"{\"extends\": \":strict\", \"process\": {\"env\": {\"pass\": [\"PATH\", \"A\"], \"set\": {\"B\": \"1\", \"PATH\": \"/b\"}}}}",
		"{\"filesystem\": {\"root\": \"/r\", \"deny\": [\"~/.ssh\", \"**/.env\"], \"tmpfs\": [{\"path\": \"t\"}, {\"path\": "
		"\"u\", \"size\": 65536}], \"bind\": [{\"source\": \"~/a\", \"target\": \"/b\", \"write\": true}]}}",
		"{\"seccomp\": {\"profile\": \"f.json\", \"allow\": [\"bpf\"], \"deny\": [\"read\"], \"errno\": \"ENOSYS\"}}",
		"{\"limits\": {\"wall_time\": 0.0015, \"cpu_time\": \"1234567ns\"}}",
		"{\"limits\": {\"wall_time\": \"1.2345678s\", \"memory\": 1048577, \"cpus\": 0.29, \"swap\": 0, \"output\": \"none\"}}",
		"{\"limits\": {\"processes\": null, \"memory_strategy\": \"watchdog\"}, \"require\": [\"network\", "
		"\"limits.memory=watchdog\"], \"enforcement\": \"best-effort\", \"backend\": \"namespaces\"}",
		"{\"process\": {\"hostname\": \"a.b\", \"identity\": \"caller\", \"nested_namespaces\": true}}",
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		cleanup_with(policy_document_freep) struct policy_document *document = parse(texts[i]);

		if (document == NULL)
			continue;
		n++;
		expect_said_again(document);
	}
	cr_expect_eq(n, sizeof texts / sizeof *texts - 1, "all but the one with a unit that is none");
}

Test(policy_own, flags_in_their_order)
{
	cleanup_with(policy_document_freep) struct policy_document *document = parse("{\"extends\": \":eval\"}");

	set(document, "process.env.pass", "BEFORE");
	clear(document, "process.env.pass");
	set(document, "process.env.pass", "AFTER");
	set(document, "process.env.set", "PATH=/elsewhere");
	set(document, "process.env.set", "NEW=a=b");
	set(document, "filesystem.tmpfs", "/t:1M");
	set(document, "filesystem.tmpfs", "/u:1M");
	set(document, "filesystem.tmpfs", "/t:2M");
	set(document, "limits.memory", "none");
	expect_said_again(document);
}

Test(policy_own, random_policies)
{
	struct chance chance = {.state = 7};
	size_t n = 0;

	for (unsigned seed = 0; seed < SEEDS; seed++) {
		cleanup_with(policy_document_freep) struct policy_document *document = NULL;
		cleanup_free char *text = policy_maker_next(&chance);

		for (char *at = text; (at = strchr(at, '@')) != NULL;)
			*at = '/';
		document = parse(text);
		if (document == NULL || resolve(document) == NULL)
			continue;
		n++;
		expect_said_again(document);
	}
	cr_expect_gt(n, SEEDS / 4, "%zu of %d policies were valid", n, SEEDS);
}

Test(policy_own, values_are_not_in_the_text)
{
	cleanup_with(policy_document_freep) struct policy_document *document =
		parse("{\"process\": {\"env\": {\"set\": {\"TOKEN\": \"hush\"}}}}");
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct policy_own own = {};
	struct error err = {};

	harness_ok(arena_new(&arena, &err), &err);
	harness_ok(policy_document_own(document, arena, &own, &err), &err);
	cr_expect_null(strstr(own.text, "hush"));
	cr_expect(own.n_set == 1 && strcmp(own.set[0].value, "hush") == 0);
}

Test(policy_own, what_cannot_be_said_is_refused)
{
	cleanup_with(policy_document_freep) struct policy_document *document = parse("{}");
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct policy_own own = {};
	struct error err = {};

	harness_ok(arena_new(&arena, &err), &err);
	set(document, "process.env.set", "A=\xff");
	cr_expect_lt(policy_document_own(document, arena, &own, &err), 0);
	cr_expect_eq(err.code, ERROR_USAGE);
	cr_expect_null(strstr(err.text, "A="), "a value is shown: %s", err.text);
	clear(document, "process.env.set");
	cr_expect_lt(policy_document_own(document, arena, &own, &err), 0);
	cr_expect_eq(err.code, ERROR_UNSUPPORTED);
}
