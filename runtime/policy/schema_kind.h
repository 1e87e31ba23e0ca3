/* One value of a field, or one entry of its list, as a schema; shared by the files schema*.c. */
#ifndef POLICY_SCHEMA_KIND_H
#define POLICY_SCHEMA_KIND_H

#include <jansson.h>

#include "runtime/policy/field.h"

/* NULL when memory is out. */
json_t *policy_schema_kind(const struct policy_field *field);
/* What kinds refer to as "#/$defs/NAME". NULL when memory is out. */
json_t *policy_schema_definitions(const char *const *syscalls);
/* A string that names a built-in (of `words`, NULL-terminated) or a file. NULL when memory is out. */
json_t *policy_schema_name(const char *const *words);

#endif
