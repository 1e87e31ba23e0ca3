/*
 * Fields of a profile with their places, and actions.
 *
 * Threat: a field that is not understood makes a filter wider than its author meant ("includes" ignored is a rule that
 * always holds). So unknown fields are errors, and so are actions nobody would carry out here: no tracer and no
 * listener is there to answer TRACE and NOTIFY.
 */
#include "seccomp/profile_oci_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define ERRNO_VALUE_MAX 0xffff /* the data of an answer; the kernel itself cuts it to 4095 */

static const struct {
	const char *name;
	uint32_t action;
	bool unanswered;
} actions[] = {
	{"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, false},
	{"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, false},
	{"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, false},
	{"SCMP_ACT_TRAP", SECCOMP_RET_TRAP, false},
	{"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, false},
	{"SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, false},
	{"SCMP_ACT_LOG", SECCOMP_RET_LOG, false},
	{"SCMP_ACT_TRACE", SECCOMP_RET_TRACE, true},
	{"SCMP_ACT_NOTIFY", SECCOMP_RET_USER_NOTIF, true},
};

/* Of the node, or of the nearest thing around it that is there. */
static struct json_place place_find(const struct oci_reader *reader, const char *pointer)
{
	char around[OCI_POINTER_SIZE];
	struct json_place place = json_places_find(reader->places, pointer);

	memcpy(around, pointer, strlen(pointer) + 1);
	while (place.line == 0 && around[0] != '\0') {
		*strrchr(around, '/') = '\0';
		place = json_places_find(reader->places, around);
	}
	return place;
}

/* "/syscalls/3/op" -> "FILE:12:7: syscalls.3.op: ". */
static void place_write(const struct oci_reader *reader, const struct oci_node *node, struct buf *text)
{
	struct json_place place = place_find(reader, node->pointer);

	buf_printf(text, "%s:%u:%u: ", reader->label, place.line, place.column);
	for (const char *p = node->pointer; *p != '\0'; p++)
		if (p > node->pointer)
			buf_append_char(text, *p == '/' ? '.' : *p);
	if (node->pointer[0] != '\0')
		buf_append_str(text, ": ");
}

static printf_like(4, 0) void complain(
	struct oci_reader *reader, const struct oci_node *node, bool warning, const char *fmt, va_list args)
{
	cleanup_buf struct buf text = {0};
	char what[320];

	place_write(reader, node, &text);
	vsnprintf(what, sizeof what, fmt, args);
	buf_append_str(&text, what);
	if (warning && !text.failed)
		diag_warning(reader->diag, "%s", buf_str(&text));
	else
		diag_error(reader->diag, "%s", buf_str(&text));
}

void oci_error(struct oci_reader *reader, const struct oci_node *node, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(reader, node, false, fmt, args);
	va_end(args);
}

void oci_warning(struct oci_reader *reader, const struct oci_node *node, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	complain(reader, node, true, fmt, args);
	va_end(args);
}

static bool field_known(const char *const *fields, const char *key)
{
	for (; *fields != NULL; fields++)
		if (strcmp(*fields, key) == 0)
			return true;
	return false;
}

void oci_check_fields(struct oci_reader *reader, const struct oci_node *object, const char *const *fields)
{
	void *iterator = json_object_iter((json_t *)object->json);

	for (; iterator != NULL; iterator = json_object_iter_next((json_t *)object->json, iterator)) {
		const char *key = json_object_iter_key(iterator), *nearest = str_nearest(key, fields);
		char printable[80];

		if (field_known(fields, key))
			continue;
		str_printable(key, printable, sizeof printable);
		if (nearest != NULL)
			oci_error(reader, object, "unknown field \"%s\"; did you mean \"%s\"?", printable, nearest);
		else
			oci_error(reader, object, "unknown field \"%s\"", printable);
	}
}

static const char *type_name(json_type type)
{
	switch (type) {
	case JSON_OBJECT: return "an object";
	case JSON_ARRAY: return "a list";
	case JSON_STRING: return "a string";
	case JSON_INTEGER: return "a whole number";
	case JSON_REAL: return "a number";
	case JSON_TRUE:
	case JSON_FALSE: return "true or false";
	case JSON_NULL: break;
	}
	return "null";
}

static void node_check_type(struct oci_reader *reader, struct oci_node *node, json_type type)
{
	if (json_is_null(node->json))
		node->json = NULL;
	if (node->json == NULL || json_typeof(node->json) == type)
		return;
	oci_error(reader, node, "must be %s", type_name(type));
	node->json = NULL;
}

/* The reader's own field names fit by far; what would not has no place. */
static void pointer_check(struct oci_node *node, int written)
{
	if (written < 0 || (size_t)written >= sizeof node->pointer)
		node->pointer[0] = '\0';
}

struct oci_node oci_field(struct oci_reader *reader, const struct oci_node *object, const char *field, json_type type)
{
	struct oci_node node = {.json = json_object_get(object->json, field)};

	pointer_check(&node, snprintf(node.pointer, sizeof node.pointer, "%s/%s", object->pointer, field));
	node_check_type(reader, &node, type);
	return node;
}

struct oci_node oci_element(struct oci_reader *reader, const struct oci_node *array, size_t index, json_type type)
{
	struct oci_node node = {.json = json_array_get(array->json, index)};

	pointer_check(&node, snprintf(node.pointer, sizeof node.pointer, "%s/%zu", array->pointer, index));
	if (json_is_null(node.json))
		oci_error(reader, &node, "must be %s", type_name(type));
	node_check_type(reader, &node, type);
	return node;
}

const char *oci_text(const struct oci_node *node)
{
	return node->json == NULL ? "" : json_string_value(node->json);
}

static bool errno_of_name(const char *name, unsigned *ret_number)
{
	for (int number = 1; number <= EHWPOISON; number++)
		if (strcmp(error_errno_name(number), name) == 0) {
			*ret_number = (unsigned)number;
			return true;
		}
	return false;
}

/* The number wins nothing over the name: where both are there they must agree. Neither: EPERM. */
static bool errno_read(
	struct oci_reader *reader, const struct oci_node *number, const struct oci_node *name, uint32_t *ret_errno)
{
	json_int_t value = number->json == NULL ? EPERM : json_integer_value(number->json);
	unsigned named = 0;

	if (value < 0 || value > ERRNO_VALUE_MAX) {
		oci_error(reader, number, "must be between 0 and %d", ERRNO_VALUE_MAX);
		return false;
	}
	if (name->json != NULL && !errno_of_name(oci_text(name), &named)) {
		oci_error(reader, name, "no error is called so");
		return false;
	}
	if (name->json != NULL && number->json != NULL && named != (unsigned)value) {
		oci_error(reader, name, "is %u, but the number beside it is %" JSON_INTEGER_FORMAT, named, value);
		return false;
	}
	*ret_errno = name->json != NULL ? named : (uint32_t)value;
	return true;
}

static bool action_find(struct oci_reader *reader, const struct oci_node *node, uint32_t *ret_action)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(actions[i].name, oci_text(node)) != 0)
			continue;
		if (actions[i].unanswered)
			oci_error(reader, node, "%s needs somebody outside who answers, and nobody does",
				actions[i].name);
		*ret_action = actions[i].action;
		return !actions[i].unanswered;
	}
	oci_error(reader, node, node->json == NULL ? "is missing" : "unknown action");
	return false;
}

bool oci_action(struct oci_reader *reader, const struct oci_node *object, const struct oci_action_fields *fields,
	uint32_t *ret_action)
{
	struct oci_node action = oci_field(reader, object, fields->action, JSON_STRING);
	struct oci_node number = oci_field(reader, object, fields->number, JSON_INTEGER);
	struct oci_node name = oci_field(reader, object, fields->name, JSON_STRING);
	uint32_t kind, value;

	if (!action_find(reader, &action, &kind) || !errno_read(reader, &number, &name, &value))
		return false;
	if (kind != SECCOMP_RET_ERRNO && (number.json != NULL || name.json != NULL)) {
		oci_error(reader, &action, "has no errno; only SCMP_ACT_ERRNO has");
		return false;
	}
	*ret_action = kind == SECCOMP_RET_ERRNO ? FILTER_ERRNO(value) : kind;
	return true;
}
