/*
 * Flat keyed files (memory.events, pids.events, cpu.stat) have a line for each name, and single value files a number or
 * "max" (cgroup-v2.rst of the kernel's documentation). cpu.stat is a list of "name value" lines, to which kernels add
 * names. It counts all that ever ran in the group and below it, the dead, the daemonized and the never waited for
 * included, and needs no controller: it is there in every cgroup of version 2. Values are microseconds.
 */
#include "cgroup/usage.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000u

/* Up to the end of the line. */
static bool parse_decimal(const char *s, uint64_t *ret_value)
{
	char *end = NULL;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(s, &end, 10);
	return errno == 0 && (*end == '\n' || *end == '\0');
}

bool usage_parse_value(const char *text, const char *name, uint64_t *ret_value)
{
	size_t size = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, name, size) == 0 && line[size] == ' ')
			return parse_decimal(line + size + 1, ret_value);
	}
	return false;
}

bool usage_parse_number(const char *text, uint64_t *ret_value)
{
	if (strcmp(text, "max\n") != 0)
		return parse_decimal(text, ret_value);
	*ret_value = UINT64_MAX;
	return true;
}

bool usage_parse_cpu(const char *text, uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
	uint64_t user;
	uint64_t system;

	if (!usage_parse_value(text, "user_usec", &user) || !usage_parse_value(text, "system_usec", &system))
		return false;
	*ret_user_ns = user * NS_PER_US;
	*ret_system_ns = system * NS_PER_US;
	return true;
}
