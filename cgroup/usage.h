/* The figures of a group's files. Pure. */
#ifndef CGROUP_USAGE_H
#define CGROUP_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#define USAGE_TEXT_MAX 65536

/* The value of the line "NAME VALUE" of a flat keyed file. */
bool usage_parse_value(const char *text, const char *name, uint64_t *ret_value);
/* A file that holds one number; "max" is UINT64_MAX. */
bool usage_parse_number(const char *text, uint64_t *ret_value);
/* user_usec and system_usec of the text of a cpu.stat, in nanoseconds. False where either is missing. */
bool usage_parse_cpu(const char *text, uint64_t *ret_user_ns, uint64_t *ret_system_ns);

#endif
