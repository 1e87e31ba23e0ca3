/*
 * A policy from its text to the plan, and what is told of each.
 *
 * An input is a byte that chooses the host, the text, and then pairs of a field and a value, as flags put them on top;
 * all end with a NUL. '@' is the directory of the made-up tree.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/policy/document.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/digest_of.h"

#define FLAGS_MAX 8

/* Whatever is refused has a reason. */
static void expect_reason(const struct diag *diag, const struct error *err)
{
	cr_assert_neq(err->code, ERROR_NONE);
	cr_assert(err->text[0] != '\0' || diag->n_errors > 0);
}

static struct policy_document *parse(const char *text, const char *directory)
{
	struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (policy_document_parse(text, "p", directory, &document, &diag, &err) == 0)
		return document;
	expect_reason(&diag, &err);
	return NULL;
}

static void set(struct policy_document *document, const char *field, const char *value)
{
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (policy_document_set(document, field, value, "--flag", &diag, &err) < 0)
		expect_reason(&diag, &err);
}

static void clear(struct policy_document *document, const char *field)
{
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (policy_document_clear(document, field, "--flag", &diag, &err) < 0)
		expect_reason(&diag, &err);
}

static void put_flags(struct fuzz_input *input, struct policy_document *document)
{
	for (unsigned i = 0; i < FLAGS_MAX && input->left > 0; i++) {
		cleanup_free char *field = fuzz_text(input);
		cleanup_free char *text = fuzz_text(input);
		cleanup_free char *value = world_text(fuzz_world(), text);

		if (strcmp(value, "-") == 0)
			clear(document, field);
		else
			set(document, field, value);
	}
}

static const struct policy *resolve(struct policy_document *document)
{
	const struct policy *policy = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (policy_document_resolve(document, &policy, &diag, &err) == 0)
		return policy;
	expect_reason(&diag, &err);
	return NULL;
}

static void report(struct policy_document *document)
{
	char *json = NULL;
	cleanup_free char *text = NULL;
	struct error err = {0};

	cr_assert_eq(policy_document_json(document, &json, &err), 0, "%s", err.text);
	fuzz_expect_json_take(json);
	cr_assert_eq(policy_document_text(document, &text, &err), 0, "%s", err.text);
}

/* What a document has of its own, said again, is the same policy. */
static void say_again(struct policy_document *document, const struct policy *policy, const char *directory)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	cleanup_with(policy_document_freep) struct policy_document *again = NULL;
	const struct policy *other;
	struct policy_own own = {0};
	struct error err = {0};

	cr_assert_eq(arena_new(&arena, &err), 0);
	if (policy_document_own(document, arena, &own, &err) < 0) {
		cr_assert_eq(err.code, ERROR_USAGE, "%s", err.text);
		return;
	}
	again = parse(own.text, directory);
	cr_assert_not_null(again, "%s", own.text);
	if (own.pass_cleared)
		clear(again, "process.env.pass");
	for (size_t i = 0; i < own.n_pass; i++)
		set(again, "process.env.pass", own.pass[i]);
	for (size_t i = 0; i < own.n_set; i++) {
		const char *entry = arena_printf(arena, "%s=%s", own.set[i].name, own.set[i].value);

		set(again, "process.env.set", entry);
	}
	other = resolve(again);
	cr_assert_not_null(other, "%s", own.text);
	cr_assert_str_eq(digest_of(other), digest_of(policy), "%s", own.text);
}

static void tell_plan(const struct plan *plan, const struct policy *policy)
{
	cleanup_json struct json_t *rows = NULL;
	cleanup_free char *text = NULL;
	struct error err = {0};
	char *json = NULL;

	if (plan_allows_run(plan, policy, &err) < 0)
		cr_assert_eq(err.code, ERROR_UNENFORCEABLE);
	cr_assert_eq(plan_json(plan, &json, &err), 0, "%s", err.text);
	fuzz_expect_json_take(json);
	cr_assert_eq(enforcement_json(&plan->enforcement, &rows, &err), 0, "%s", err.text);
	cr_assert_eq(enforcement_text(&plan->enforcement, false, &text, &err), 0, "%s", err.text);
}

static void make_plan(const struct policy *policy, const struct host *host)
{
	const struct world *tree = fuzz_world();
	char program[] = "/bin/true", path[] = "PATH=/usr/bin:/bin", token[] = "TOKEN=secret";
	char *argv[] = {program, NULL}, *environment[] = {path, token, NULL};
	const struct command command = {.argv = argv,
		.environment = environment,
		.workspace = tree->ws,
		.home = tree->home,
		.stdin_fd = -1,
		.out_fd = -1,
		.err_fd = -1};
	cleanup_with(plan_freep) struct plan *plan = NULL;
	cleanup_diag struct diag diag = {0};
	struct error err = {0};

	if (plan_new(policy, host, &command, &plan, &diag, &err) < 0)
		expect_reason(&diag, &err);
	else
		tell_plan(plan, policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	const struct world *tree = fuzz_world();
	const struct host *host = fuzz_host(&input);
	cleanup_free char *pattern = fuzz_text(&input);
	cleanup_free char *text = world_text(tree, pattern);
	cleanup_with(policy_document_freep) struct policy_document *document = parse(text, tree->root);
	const struct policy *policy;

	if (document == NULL)
		return 0;
	put_flags(&input, document);
	policy = resolve(document);
	if (policy == NULL)
		return 0;
	report(document);
	say_again(document, policy, tree->root);
	make_plan(policy, host);
	return 0;
}
