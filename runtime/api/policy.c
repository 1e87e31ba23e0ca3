/* The public policy: a document and what was last said of it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/api/objects.h"
#include "runtime/policy/schema.h"
#include "seccomp/syscalls.h"

static int wrap(struct policy_document *document, pinfold_policy **ret_policy, struct error *err)
{
	pinfold_policy *policy = calloc(1, sizeof *policy);

	if (policy == NULL) {
		(void)policy_document_free(document);
		return error_no_memory(err);
	}
	policy->document = document;
	*ret_policy = policy;
	return 0;
}

int pinfold_policy_load(const char *name, pinfold_policy **ret_policy, pinfold_error **err)
{
	struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (policy_document_load(name, &document, &diag, &error) < 0 || wrap(document, ret_policy, &error) < 0)
		return api_fail(err, "policy load", &error, &diag);
	return 0;
}

int pinfold_policy_parse(
	const char *text, const char *label, const char *directory, pinfold_policy **ret_policy, pinfold_error **err)
{
	struct policy_document *document = NULL;
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (policy_document_parse(text, label, directory, &document, &diag, &error) < 0 ||
		wrap(document, ret_policy, &error) < 0)
		return api_fail(err, "policy parse", &error, &diag);
	return 0;
}

int pinfold_policy_set(
	pinfold_policy *policy, const char *field, const char *value, const char *origin, pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (policy_document_set(policy->document, field, value, origin, &diag, &error) < 0)
		return api_fail(err, "policy set", &error, &diag);
	return 0;
}

int pinfold_policy_clear(pinfold_policy *policy, const char *field, const char *origin, pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (policy_document_clear(policy->document, field, origin, &diag, &error) < 0)
		return api_fail(err, "policy clear", &error, &diag);
	return 0;
}

int pinfold_policy_validate(pinfold_policy *policy, pinfold_error **err)
{
	cleanup_with(arena_freep) struct arena *arena = NULL;
	const struct policy *resolved = NULL;
	cleanup_diag struct diag diag = {0};
	struct error error = {0};
	struct filter filter;

	/* The names of system calls are known where the filter is made. */
	if (policy_document_resolve(policy->document, &resolved, &diag, &error) < 0 || arena_new(&arena, &error) < 0 ||
		plan_filter(resolved, arena, &filter, &diag, &error) < 0)
		return api_fail(err, "policy validate", &error, &diag);
	return 0;
}

static const char *keep(char **slot, char *text)
{
	free(*slot);
	*slot = text;
	return text;
}

const char *pinfold_policy_json(pinfold_policy *policy, pinfold_error **err)
{
	struct error error = {0};
	char *json = NULL;

	if (pinfold_policy_validate(policy, err) < 0)
		return NULL;
	if (policy_document_json(policy->document, &json, &error) < 0) {
		(void)api_fail(err, "policy show", &error, NULL);
		return NULL;
	}
	return keep(&policy->json, json);
}

const char *pinfold_policy_text(pinfold_policy *policy, pinfold_error **err)
{
	struct error error = {0};
	char *text = NULL;

	if (pinfold_policy_validate(policy, err) < 0)
		return NULL;
	if (policy_document_text(policy->document, &text, &error) < 0) {
		(void)api_fail(err, "policy show", &error, NULL);
		return NULL;
	}
	return keep(&policy->text, text);
}

int pinfold_policy_schema(char **ret_json, pinfold_error **err)
{
	const char *syscalls[SYSCALL_NUMBERS + 1] = {NULL};
	struct error error = {0};
	size_t n = 0;

	for (unsigned number = 0; number < SYSCALL_NUMBERS; number++) {
		const char *name = syscall_name(number);

		if (name != NULL)
			syscalls[n++] = name;
	}
	if (policy_schema_json(syscalls, ret_json, &error) < 0)
		return api_fail(err, "policy schema", &error, NULL);
	return 0;
}

const char *pinfold_policy_builtin_name(size_t index)
{
	return policy_builtin_name(index);
}

const char *pinfold_policy_builtin_summary(size_t index)
{
	return policy_builtin_summary(index);
}

pinfold_policy *pinfold_policy_free(pinfold_policy *policy)
{
	if (policy == NULL)
		return NULL;
	(void)policy_document_free(policy->document);
	free(policy->json);
	free(policy->text);
	free(policy);
	return NULL;
}
