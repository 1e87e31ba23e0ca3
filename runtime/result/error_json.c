/*
 * An error record as JSON. The message is the line for people without its code, which has a field of its own. Paths and
 * names in it may be any bytes: what is not UTF-8 is replaced.
 */
#include "runtime/result/error_json.h"

#include <stdio.h>
#include <string.h>

#include "runtime/result/result.h"

#define MESSAGE_SIZE 1024

static void cut_code(const struct error *error, char *message)
{
	char code[64];
	size_t size = strlen(message), n;

	(void)snprintf(code, sizeof code, " (%s)", error_code_name(error->code));
	n = strlen(code);
	if (size >= n && strcmp(message + size - n, code) == 0)
		message[size - n] = '\0';
}

static json_t *context_json(const struct error *error)
{
	cleanup_json json_t *object = json_object();

	for (size_t i = 0; object != NULL && i < error->n_context; i++) {
		if (json_put(object, error->context[i].key, json_text(error->context[i].value)) < 0)
			return NULL;
	}
	return steal_ptr(&object);
}

static json_t *retry_json(enum error_retry retryable)
{
	switch (retryable) {
	case ERROR_RETRY_YES: return json_true();
	case ERROR_RETRY_NO: return json_false();
	case ERROR_RETRY_UNKNOWN: break;
	}
	return json_null();
}

static json_t *details_json(const char *const *details, size_t n)
{
	cleanup_json json_t *array = json_array();

	for (size_t i = 0; array != NULL && i < n; i++) {
		if (json_array_append_new(array, json_text(details[i])) < 0)
			return NULL;
	}
	return steal_ptr(&array);
}

json_t *error_json(const struct error *error, const char *const *details, size_t n_details)
{
	cleanup_json json_t *object = json_object();
	char message[MESSAGE_SIZE];

	(void)error_message(error, message, sizeof message);
	cut_code(error, message);
	if (object == NULL || json_put(object, "schema", json_string("pinfold.error/1")) < 0 ||
		json_put(object, "code", json_string(error_code_name(error->code))) < 0 ||
		json_put(object, "op", json_text(error->op[0] == '\0' ? NULL : error->op)) < 0 ||
		json_put(object, "message", json_text(message)) < 0 ||
		json_put(object, "context", context_json(error)) < 0 ||
		json_put(object, "retryable", retry_json(error->retryable)) < 0)
		return NULL;
	if (n_details > 0 && json_put(object, "details", details_json(details, n_details)) < 0)
		return NULL;
	return steal_ptr(&object);
}

char *result_error_json(const struct error *error, const char *const *details, size_t n_details)
{
	cleanup_json json_t *object = error_json(error, details, n_details);

	return object == NULL ? NULL : json_to_string(object, 1);
}
