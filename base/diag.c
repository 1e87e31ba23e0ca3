/*
 * A list of mistakes and warnings.
 *
 * A policy with five mistakes should cost its author one round, not five: whoever checks something adds an entry and
 * goes on, and the caller asks once at the end. A lack of memory while adding must not turn a refusal into consent, so
 * it is remembered and counts as an error.
 */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void diag_done(struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++)
		free(diag->entries[i].text);
	free(diag->entries);
	*diag = (struct diag){};
}

/* Room for one more; capacities are the powers of two from 8, so that the length alone tells when to grow. */
static struct diag_entry *grow(struct diag *diag)
{
	struct diag_entry *grown;
	size_t wanted = diag->n < 8 ? 8 : diag->n * 2;

	if (diag->n != 0 && (diag->n < 8 || (diag->n & (diag->n - 1)) != 0))
		return diag->entries;
	grown = reallocarray(diag->entries, wanted, sizeof *grown);
	if (grown != NULL)
		diag->entries = grown;
	return grown;
}

static printf_like(3, 0) void add(struct diag *diag, bool warning, const char *fmt, va_list args)
{
	char *text = NULL;

	if (grow(diag) == NULL || vasprintf(&text, fmt, args) < 0) {
		diag->failed = true;
		return;
	}
	diag->entries[diag->n++] = (struct diag_entry){.warning = warning, .text = text};
	if (!warning)
		diag->n_errors++;
}

void diag_error(struct diag *diag, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(diag, false, fmt, args);
	va_end(args);
}

void diag_warning(struct diag *diag, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(diag, true, fmt, args);
	va_end(args);
}

static const char *first_error(const struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++)
		if (!diag->entries[i].warning)
			return diag->entries[i].text;
	return "";
}

int diag_check(const struct diag *diag, enum error_code code, struct error *err)
{
	if (diag->failed)
		return error_no_memory(err);
	if (diag->n_errors == 0)
		return 0;
	if (diag->n_errors == 1)
		return error_set(err, code, "", "%s", first_error(diag));
	return error_set(err, code, "", "%s (and %zu more)", first_error(diag), diag->n_errors - 1);
}
