/*
 * The error record: filled where a thing goes wrong, enriched on the way up, put into words once at the top.
 *
 * Everything is bounded: a text that does not fit is cut at a whole UTF-8 character, since it ends up in JSON. Texts
 * are formatted into a scratch buffer first, so that an argument may point into the very record that is being
 * rewritten. Nothing here allocates, so that running out of memory can be told like any other failure, and a child
 * between fork and exec can fill its record too. Records that arrive from a child are bytes that it wrote, and are
 * taken by error_receive alone.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define TEXT_SIZE sizeof((struct error *)NULL)->text

static const char *const code_names[_ERROR_CODE_COUNT] = {
	[ERROR_NONE] = "none",
	[ERROR_POLICY_INVALID] = "policy_invalid",
	[ERROR_UNENFORCEABLE] = "unenforceable",
	[ERROR_BACKEND_UNAVAILABLE] = "backend_unavailable",
	[ERROR_UNSUPPORTED] = "unsupported",
	[ERROR_NOT_FOUND] = "not_found",
	[ERROR_PERMISSION_DENIED] = "permission_denied",
	[ERROR_LIMIT] = "limit",
	[ERROR_IO] = "io",
	[ERROR_NO_MEMORY] = "no_memory",
	[ERROR_USAGE] = "usage",
	[ERROR_WORKSPACE_ROOT_NOT_FOUND] = "workspace_root_not_found",
	[ERROR_SANDBOX_CONFIG_INVALID] = "sandbox_config_invalid",
	[ERROR_INVALID_MANIFEST_PATH] = "invalid_manifest_path",
	[ERROR_LOCAL_FILE_READ] = "local_file_read_error",
	[ERROR_LOCAL_DIR_READ] = "local_dir_read_error",
	[ERROR_GIT_CLONE] = "git_clone_error",
	[ERROR_WORKSPACE_ARCHIVE_READ] = "workspace_archive_read_error",
	[ERROR_WORKSPACE_ARCHIVE_WRITE] = "workspace_archive_write_error",
	[ERROR_INVALID_COMPRESSION_SCHEME] = "invalid_compression_scheme",
	[ERROR_CANCELLED] = "cancelled",
	[ERROR_INTERNAL] = "internal",
};

const char *error_code_name(enum error_code code)
{
	if ((unsigned)code >= _ERROR_CODE_COUNT)
		return "internal";
	return code_names[code];
}

const char *error_errno_name(int sys_errno)
{
	const char *name = strerrorname_np(sys_errno);

	return name != NULL ? name : "E?";
}

/* Copies s into a field of `size` bytes, cut at a whole character. */
static void put_text(char *field, size_t size, const char *s)
{
	size_t length = strlen(s);

	if (length >= size)
		length = str_utf8_floor(s, size - 1);
	memmove(field, s, length);
	field[length] = '\0';
}

static void format_text(char *field, size_t size, const char *fmt, va_list args) printf_like(3, 0);
static void format_text(char *field, size_t size, const char *fmt, va_list args)
{
	char scratch[TEXT_SIZE + 8];

	if (vsnprintf(scratch, sizeof scratch, fmt, args) < 0)
		scratch[0] = '\0';
	put_text(field, size, scratch);
}

static void fill(struct error *err, enum error_code code, int sys_errno, const char *where, const char *fmt,
	va_list args) printf_like(5, 0);
static void fill(struct error *err, enum error_code code, int sys_errno, const char *where, const char *fmt, va_list args)
{
	struct error fresh = {.code = code, .sys_errno = sys_errno, .retryable = ERROR_RETRY_UNKNOWN};

	put_text(fresh.where, sizeof fresh.where, where);
	format_text(fresh.text, sizeof fresh.text, fmt, args);
	*err = fresh;
}

int error_set(struct error *err, enum error_code code, const char *where, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return -1;
	va_start(args, fmt);
	fill(err, code, 0, where, fmt, args);
	va_end(args);
	return -1;
}

int error_set_errno(struct error *err, enum error_code code, int sys_errno, const char *where, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return -1;
	va_start(args, fmt);
	fill(err, sys_errno == ENOMEM ? ERROR_NO_MEMORY : code, sys_errno, where, fmt, args);
	va_end(args);
	return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	char prefix[TEXT_SIZE];
	char whole[2 * TEXT_SIZE + 2];
	va_list args;

	if (err == NULL)
		return -1;
	va_start(args, fmt);
	format_text(prefix, sizeof prefix, fmt, args);
	va_end(args);
	(void)snprintf(whole, sizeof whole, "%s: %s", prefix, err->text);
	put_text(err->text, sizeof err->text, whole);
	return -1;
}

int error_no_memory(struct error *err)
{
	return error_set_errno(err, ERROR_NO_MEMORY, ENOMEM, "allocate", "out of memory");
}

static void bound_text(char *field, size_t size)
{
	field[strnlen(field, size - 1)] = '\0';
}

/* Keys are words of the program's own, and members of a JSON object later. */
static bool is_key(const char *key)
{
	size_t size = strspn(key, "abcdefghijklmnopqrstuvwxyz_");

	return size > 0 && key[size] == '\0';
}

static size_t bound_context(struct error *err)
{
	size_t n = err->n_context < ERROR_CONTEXT_MAX ? err->n_context : ERROR_CONTEXT_MAX;

	for (size_t i = 0; i < n; i++) {
		struct error_context *context = &err->context[i];

		bound_text(context->key, sizeof context->key);
		bound_text(context->value, sizeof context->value);
		if (!is_key(context->key))
			return i;
	}
	return n;
}

int error_receive(struct error *err, const struct error *record)
{
	if (err == NULL)
		return -1;
	*err = *record;
	if ((unsigned)err->code >= _ERROR_CODE_COUNT || err->code == ERROR_NONE)
		err->code = ERROR_INTERNAL;
	if ((unsigned)err->retryable > ERROR_RETRY_NO)
		err->retryable = ERROR_RETRY_UNKNOWN;
	bound_text(err->op, sizeof err->op);
	bound_text(err->where, sizeof err->where);
	bound_text(err->text, sizeof err->text);
	bound_text(err->fix, sizeof err->fix);
	err->n_context = bound_context(err);
	return -1;
}

void error_set_fix(struct error *err, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return;
	va_start(args, fmt);
	format_text(err->fix, sizeof err->fix, fmt, args);
	va_end(args);
}

void error_add_context(struct error *err, const char *key, const char *value)
{
	struct error_context *context;

	if (err == NULL || err->n_context >= ERROR_CONTEXT_MAX)
		return;
	context = &err->context[err->n_context];
	put_text(context->key, sizeof context->key, key);
	put_text(context->value, sizeof context->value, value);
	err->n_context++;
}

/* The kernel's word is left out where the text already is that word, as for "out of memory". */
static const char *kernel_word(const struct error *err)
{
	const char *word = err->sys_errno != 0 ? strerrordesc_np(err->sys_errno) : NULL;

	if (err->code == ERROR_NO_MEMORY && strstr(err->text, "out of memory") != NULL)
		return NULL;
	return word;
}

const char *error_message(const struct error *err, char *buf, size_t size)
{
	const char *word = kernel_word(err);
	char whole[TEXT_SIZE + sizeof err->fix + 128];

	(void)snprintf(whole, sizeof whole, "%s%s%s%s%s (%s)", err->text, word != NULL ? ": " : "",
		word != NULL ? word : "", err->fix[0] != '\0' ? "; " : "", err->fix, error_code_name(err->code));
	if (size > 0)
		put_text(buf, size, whole);
	return buf;
}
