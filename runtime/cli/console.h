/* Everything that pinfold says: documents on stdout, lines on stderr. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "include/pinfold.h"
#include "runtime/cli/settings.h"

/* Writes all of it, waiting where the reader is slow. 0, or -1 with errno. */
int cli_write(int fd, const void *data, size_t size);
/* To stdout. Returns 0, or the exit status after the failure was told. A reader that left is no failure. */
must_check int cli_print(const struct settings *settings, const char *text);
must_check int cli_print_buf(const struct settings *settings, const struct buf *text);
/* The same for a JSON text, which gets its newline; NULL means that memory ran out while it was made. */
must_check int cli_print_document(const struct settings *settings, const char *json);
/* The same for a JSON value, whose reference is taken. */
must_check int cli_print_json_take(const struct settings *settings, json_t *json);

/* "pinfold: TEXT" on stderr, one line whatever the text holds. */
void cli_say(const char *fmt, ...) printf_like(1, 2);
/* Tells an error, with --json as a document too, and returns the exit status that it means. */
must_check int cli_fail(const struct settings *settings, const struct error *err);
must_check int cli_fail_take(const struct settings *settings, pinfold_error *error);
/* The same for an error of the library that a flag's value has caused: a usage error. */
must_check int cli_fail_usage_take(const struct settings *settings, pinfold_error *error);
/* What a failure to open a path of the caller's is called; sets err and returns -1. */
int cli_open_error(struct error *err, int sys_errno, const char *option, const char *what, const char *path);
/* A usage error with its text. */
must_check int cli_usage(const struct settings *settings, const char *fmt, ...) printf_like(2, 3);

#endif
