/* What the two halves of the profile reader share: the state of a reading, and fields with their places. */
#ifndef SECCOMP_PROFILE_OCI_READER_H
#define SECCOMP_PROFILE_OCI_READER_H

#include "base/json.h"
#include "seccomp/filter_plan.h"

/* A value and where it stands: a JSON pointer of field names and indices that the reader itself knows. */
#define OCI_POINTER_SIZE 128
struct oci_node {
	const json_t *json; /* NULL: absent, null, or of a wrong type, which was reported */
	char pointer[OCI_POINTER_SIZE];
};

/* The rules of one call so far. */
struct oci_call {
	bool settled; /* a rule without conditions was met: later ones do not count */
	uint32_t action;
	struct filter_rule *rules;
	size_t n_rules;
};

struct oci_reader {
	const char *label;
	const struct json_places *places;
	uint64_t kernel;
	struct arena *arena;
	struct diag *diag;
	uint32_t default_action;
	int newest; /* the highest number the profile names */
	struct oci_call calls[SYSCALL_NUMBERS];
};

/* The names of the fields that hold an action and its errno, which differ between the default and a rule. */
struct oci_action_fields {
	const char *action, *number, *name;
};

void oci_error(struct oci_reader *reader, const struct oci_node *node, const char *fmt, ...) printf_like(3, 4);
void oci_warning(struct oci_reader *reader, const struct oci_node *node, const char *fmt, ...) printf_like(3, 4);
/* Refuses fields that are not in `fields` (NULL-terminated). */
void oci_check_fields(struct oci_reader *reader, const struct oci_node *object, const char *const *fields);
struct oci_node oci_field(struct oci_reader *reader, const struct oci_node *object, const char *field, json_type type);
struct oci_node oci_element(struct oci_reader *reader, const struct oci_node *array, size_t index, json_type type);
/* "" where it is no string. */
const char *oci_text(const struct oci_node *node);
/* An action with its errno in it; false where it is missing or wrong, which was reported. */
bool oci_action(struct oci_reader *reader, const struct oci_node *object, const struct oci_action_fields *fields,
	uint32_t *ret_action);
/* Reads one element of "syscalls" into reader->calls. */
void oci_rule(struct oci_reader *reader, const struct oci_node *rule);

#endif
