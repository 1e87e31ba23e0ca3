/*
 * The one error record. Fixed size and without pointers, so that it crosses the child's socket whole.
 * Born once (error_set*), enriched on the way up (error_prefix), never matched on text, never printed by the library.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>

#define must_check             __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

/* Stable words of docs/errors.md; error_code_name() gives the word. */
enum error_code {
	ERROR_NONE,
	ERROR_POLICY_INVALID,
	ERROR_UNENFORCEABLE,
	ERROR_BACKEND_UNAVAILABLE,
	ERROR_UNSUPPORTED,
	ERROR_NOT_FOUND,
	ERROR_PERMISSION_DENIED,
	ERROR_LIMIT,
	ERROR_IO,
	ERROR_NO_MEMORY,
	ERROR_USAGE,
	ERROR_WORKSPACE_ROOT_NOT_FOUND,
	ERROR_SANDBOX_CONFIG_INVALID,
	ERROR_INVALID_MANIFEST_PATH,
	ERROR_LOCAL_FILE_READ,
	ERROR_LOCAL_DIR_READ,
	ERROR_GIT_CLONE,
	ERROR_WORKSPACE_ARCHIVE_READ,
	ERROR_WORKSPACE_ARCHIVE_WRITE,
	ERROR_INVALID_COMPRESSION_SCHEME,
	ERROR_CANCELLED,
	ERROR_INTERNAL,
	_ERROR_CODE_COUNT
};

enum error_retry {
	ERROR_RETRY_UNKNOWN,
	ERROR_RETRY_YES,
	ERROR_RETRY_NO
};

#define ERROR_CONTEXT_MAX 4

struct error_context {
	char key[24];
	char value[200];
};

struct error {
	enum error_code code;
	int sys_errno; /* 0 where the kernel said nothing */
	enum error_retry retryable;
	char op[32];    /* the verb in whose course it happened ("run", "policy load"); set at the top */
	char where[96]; /* the step that failed ("mount proc", "open_tree") */
	char text[480]; /* for people, without the kernel's word, which error_message adds */
	char fix[240];  /* the remedy where one is known, else "" */
	size_t n_context;
	struct error_context context[ERROR_CONTEXT_MAX];
};

/* All setters accept err == NULL and return -1, so that `return error_set(...)` ends a function. */
int error_set(struct error *err, enum error_code code, const char *where, const char *fmt, ...) printf_like(4, 5);
/* For a failed system call: sys_errno is kept; out of memory becomes ERROR_NO_MEMORY whatever code says. */
int error_set_errno(struct error *err, enum error_code code, int sys_errno, const char *where, const char *fmt, ...)
	printf_like(5, 6);
/* Puts "PREFIX: " before the text of an error that passes through; returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) printf_like(2, 3);
int error_no_memory(struct error *err);
/* Sets err to a record whose bytes came from another process: what is out of bounds in it is brought within them, and
 * one that is no error becomes ERROR_INTERNAL. Returns -1. */
int error_receive(struct error *err, const struct error *record);
void error_set_fix(struct error *err, const char *fmt, ...) printf_like(2, 3);
/* Beyond ERROR_CONTEXT_MAX pairs, or too long: cut. */
void error_add_context(struct error *err, const char *key, const char *value);

const char *error_code_name(enum error_code code);
/* Writes "TEXT: kernel's word; REMEDY (code)" to buf and returns buf; always terminated. */
const char *error_message(const struct error *err, char *buf, size_t size);
/* The symbolic name of an errno ("ENOSPC"), "E?" where unknown. */
const char *error_errno_name(int sys_errno);

#endif
