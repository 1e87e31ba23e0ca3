/*
 * The list of built-in policies. Their texts are embedded, so that a moved or half-installed pinfold can never fall
 * back to something weaker than what it was built with: the files that are installed beside are for reading only.
 */
#include "runtime/policy/builtin.h"

#include <string.h>

#include "base/str.h"
#include "runtime/policy/document.h"

#define NAMES_MAX 16

const char *policy_builtin_name(size_t index)
{
	for (size_t i = 0; policy_builtins[i].name != NULL; i++)
		if (i == index)
			return policy_builtins[i].name;
	return NULL;
}

const char *policy_builtin_summary(size_t index)
{
	return policy_builtin_name(index) != NULL ? policy_builtins[index].summary : NULL;
}

const struct policy_builtin *policy_builtin_find(const char *name)
{
	for (size_t i = 0; policy_builtins[i].name != NULL; i++)
		if (strcmp(policy_builtins[i].name, name) == 0)
			return &policy_builtins[i];
	return NULL;
}

const char *policy_builtin_nearest(const char *name)
{
	const char *names[NAMES_MAX] = {};

	for (size_t i = 0; i < NAMES_MAX - 1 && policy_builtins[i].name != NULL; i++)
		names[i] = policy_builtins[i].name;
	return str_nearest(name, names);
}
