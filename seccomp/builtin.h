/* The built-in filters as generate_filters.c wrote them. */
#ifndef SECCOMP_BUILTIN_H
#define SECCOMP_BUILTIN_H

#include "seccomp/filter.h"

struct builtin_filter {
	const char *profile;
	bool nested_namespaces;
	struct filter filter;
};

extern const struct builtin_filter builtin_filters[];
extern const size_t builtin_filters_n;

#endif
