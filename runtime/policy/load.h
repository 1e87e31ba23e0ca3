/* From a name to layers: built-ins, files, and what they extend. */
#ifndef POLICY_LOAD_H
#define POLICY_LOAD_H

#include "base/diag.h"
#include "runtime/policy/settings.h"

struct policy_builtin;

/* Both put the layers of a source and of everything below it into settings; every mistake is in diag. */
void policy_load_name(struct policy_settings *settings, const char *name, struct diag *diag);
/* directory: what "extends" is relative to; NULL: the current directory. */
void policy_load_text(struct policy_settings *settings, const char *text, const char *label, const char *directory,
	struct diag *diag);

#endif
