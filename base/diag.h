/* A list of mistakes and warnings, each with its place, so that all can be told at once. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct diag_entry {
	bool warning;
	char *text; /* "FILE:LINE:COL: FIELD: what is wrong", without newline */
};

struct diag {
	struct diag_entry *entries;
	size_t n;
	size_t n_errors;
	bool failed; /* memory ran out: counts as an error */
};

#define cleanup_diag __attribute__((cleanup(diag_done)))

void diag_done(struct diag *diag);
void diag_error(struct diag *diag, const char *fmt, ...) printf_like(2, 3);
void diag_warning(struct diag *diag, const char *fmt, ...) printf_like(2, 3);
/* 0 where there is no error; else -1 with err: code, the first text, and how many more. */
must_check int diag_check(const struct diag *diag, enum error_code code, struct error *err);

#endif
