/* Between wrap.c and wrap_environment.c. */
#ifndef API_WRAP_H
#define API_WRAP_H

#include <jansson.h>

#include "base/arena.h"
#include "runtime/policy/document.h"

/* The variable by which pinfold gets the value of the command's variable `name`; NULL when memory is out. */
const char *wrap_carrier(struct arena *arena, const char *name);
/* The environment to start pinfold with, and why it cannot be had. caller: NULL-terminated, what the policy passes from. */
must_check int wrap_environment(const struct policy *policy, const struct policy_own *own, char *const *caller,
	struct arena *arena, json_t **ret_json, struct error *err);
/* Refuses a text that JSON, or one argument or variable of a program, cannot carry. what: what it is, for the message. */
must_check int wrap_check_text(const char *text, const char *what, struct error *err);

#endif
