/* The policies that come with pinfold, as profiles/ has them; generated when it is built. */
#ifndef POLICY_BUILTIN_H
#define POLICY_BUILTIN_H

#include <stddef.h>

struct policy_builtin {
	const char *name;  /* ":read-only" */
	const char *label; /* "built-in :read-only" */
	const char *summary;
	const char *text; /* JSON, without comments and spaces */
	size_t size;
};

/* In the order of their listing; the name of the last one is NULL. */
extern const struct policy_builtin policy_builtins[];
/* The table of secrets, denied under every policy. */
extern const char *const policy_secret_paths[];
extern const size_t policy_n_secret_paths;

/* NULL where there is none. */
const struct policy_builtin *policy_builtin_find(const char *name);
/* The nearest name, or NULL. */
const char *policy_builtin_nearest(const char *name);

#endif
