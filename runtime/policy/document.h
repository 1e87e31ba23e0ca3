/*
 * A policy while it is put together: layers of JSON merged (extends, file, flags), each value with its origin.
 * policy_document_resolve() gives the struct policy, which lives as long as the document is not changed or freed.
 */
#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "base/error.h"
#include "runtime/policy/policy.h"

struct policy_document;

/* name: ":builtin" or a file. On failure every mistake is in diag, the first in err. */
must_check int policy_document_load(
	const char *name, struct policy_document **ret_document, struct diag *diag, struct error *err);
must_check int policy_document_parse(const char *text, const char *label, const char *directory,
	struct policy_document **ret_document, struct diag *diag, struct error *err);
/* See pinfold_policy_set and pinfold_policy_clear. */
must_check int policy_document_set(struct policy_document *document, const char *field, const char *value,
	const char *origin, struct diag *diag, struct error *err);
must_check int policy_document_clear(
	struct policy_document *document, const char *field, const char *origin, struct diag *diag, struct error *err);
must_check int policy_document_resolve(
	struct policy_document *document, const struct policy **ret_policy, struct diag *diag, struct error *err);
/* malloc'ed; the pinfold.policy/1 document, and its rendering for people. */
must_check int policy_document_json(struct policy_document *document, char **ret_json, struct error *err);
must_check int policy_document_text(struct policy_document *document, char **ret_text, struct error *err);

/* What a document has of its own, beside the built-in that it lies on, in the pieces that a command line can say. */
struct policy_own {
	const char *text;  /* JSON that extends the built-in, without the variables' values */
	bool pass_cleared; /* process.env.pass: emptied, and then given these */
	const char **pass;
	size_t n_pass;
	struct policy_variable *set; /* process.env.set */
	size_t n_set;
};

/* In `arena`. A text that is not UTF-8, which JSON cannot carry, is ERROR_USAGE. */
must_check int policy_document_own(
	struct policy_document *document, struct arena *arena, struct policy_own *ret_own, struct error *err);

struct policy_document *policy_document_free(struct policy_document *document);
CLEANUP_DEFINE(struct policy_document, policy_document_free)

const char *policy_builtin_name(size_t index); /* NULL past the end */
const char *policy_builtin_summary(size_t index);

#endif
