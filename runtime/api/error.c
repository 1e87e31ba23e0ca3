/*
 * struct error -> the public error object. The one failure that cannot be described in memory of its own, being out of
 * memory, has a constant object, which pinfold_error_free() knows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/api/objects.h"
#include "runtime/result/result.h"

#define MESSAGE_BYTES 2048

static const pinfold_error out_of_memory = {
	.error = {.code = ERROR_NO_MEMORY},
	.message = (char *)(uintptr_t) "out of memory (no_memory)",
	.json = (char *)(uintptr_t) "{\"schema\": \"pinfold.error/1\", \"code\": \"no_memory\", \"op\": null, "
				    "\"message\": \"out of memory\", \"context\": {}, \"retryable\": true}\n",
};

static bool copy_details(pinfold_error *made, const struct diag *diag)
{
	if (diag == NULL || diag->n_errors == 0)
		return true;
	made->details = calloc(diag->n_errors + 1, sizeof *made->details);
	for (size_t i = 0; made->details != NULL && i < diag->n; i++) {
		if (diag->entries[i].warning)
			continue;
		made->details[made->n_details] = strdup(diag->entries[i].text);
		if (made->details[made->n_details] == NULL)
			return false;
		made->n_details++;
	}
	return made->details != NULL;
}

static pinfold_error *make(const char *op, const struct error *error, const struct diag *diag)
{
	pinfold_error *made = calloc(1, sizeof *made);

	if (made == NULL)
		return NULL;
	made->error = *error;
	if (made->error.op[0] == '\0')
		memcpy(made->error.op, op, strnlen(op, sizeof made->error.op - 1));
	made->message = malloc(MESSAGE_BYTES);
	if (made->message == NULL || !copy_details(made, diag))
		return pinfold_error_free(made);
	(void)error_message(&made->error, made->message, MESSAGE_BYTES);
	made->json = result_error_json(&made->error, (const char *const *)made->details, made->n_details);
	return made->json != NULL ? made : pinfold_error_free(made);
}

int api_fail(pinfold_error **err, const char *op, const struct error *error, const struct diag *diag)
{
	if (err == NULL)
		return -1;
	*err = make(op, error, diag);
	if (*err == NULL)
		*err = (pinfold_error *)(uintptr_t)&out_of_memory;
	return -1;
}

const char *pinfold_error_code(const pinfold_error *error)
{
	return error_code_name(error->error.code);
}

const char *pinfold_error_message(const pinfold_error *error)
{
	return error->message;
}

const char *pinfold_error_json(pinfold_error *error)
{
	return error->json;
}

const char *pinfold_error_detail(const pinfold_error *error, size_t index)
{
	return index < error->n_details ? error->details[index] : NULL;
}

/* The process or the machine has run out of something: whatever could not be opened then is not to blame. */
static bool is_exhausted(const struct error *error)
{
	return error->sys_errno == EMFILE || error->sys_errno == ENFILE || error->sys_errno == ENOMEM;
}

/* Somebody else's manifest, archive or source was refused: a negative answer, and no failure of pinfold's. */
static bool is_refusal(const struct error *error)
{
	if (is_exhausted(error))
		return false;
	switch (error->code) {
	case ERROR_SANDBOX_CONFIG_INVALID:
	case ERROR_INVALID_MANIFEST_PATH:
	case ERROR_LOCAL_FILE_READ:
	case ERROR_LOCAL_DIR_READ:
	case ERROR_GIT_CLONE:
	case ERROR_WORKSPACE_ARCHIVE_READ:
	case ERROR_WORKSPACE_ARCHIVE_WRITE:
	case ERROR_INVALID_COMPRESSION_SCHEME: return true;
	case ERROR_UNSUPPORTED:
	case ERROR_LIMIT: return strcmp(error->op, "materialize") == 0 || strcmp(error->op, "extract") == 0;
	case ERROR_NONE:
	case ERROR_POLICY_INVALID:
	case ERROR_UNENFORCEABLE:
	case ERROR_BACKEND_UNAVAILABLE:
	case ERROR_NOT_FOUND:
	case ERROR_PERMISSION_DENIED:
	case ERROR_IO:
	case ERROR_NO_MEMORY:
	case ERROR_USAGE:
	case ERROR_WORKSPACE_ROOT_NOT_FOUND:
	case ERROR_INTERNAL:
	case ERROR_CANCELLED:
	case _ERROR_CODE_COUNT: break;
	}
	return false;
}

int pinfold_error_exit_status(const pinfold_error *error)
{
	if (error->error.code == ERROR_USAGE)
		return 2;
	return is_refusal(&error->error) ? 1 : 125;
}

pinfold_error *pinfold_error_free(pinfold_error *error)
{
	if (error == NULL || error == &out_of_memory)
		return NULL;
	for (size_t i = 0; i < error->n_details; i++)
		free(error->details[i]);
	free(error->details);
	free(error->message);
	free(error->json);
	free(error);
	return NULL;
}
