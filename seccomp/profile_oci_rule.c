/*
 * One element of "syscalls": whether it applies here, its tests, and what it adds to the calls it names.
 *
 * Rules meet as they do in libseccomp, which every other reader of this format hands them to: a rule without conditions
 * settles its call, whatever came or comes with conditions; a rule that answers what the default answers adds nothing;
 * several conditions on different arguments must all hold, several on the same argument are each a rule of their own.
 * Where libseccomp leaves the order open, because conditions overlap, the harder answer wins (profile_oci.c sorts).
 *
 * Conditions are taken for a command without capabilities on the kernel that runs. Rules that do not apply are read to
 * the end all the same, and a mistake in them is a mistake; only names that nobody knows are then not worth a word, for
 * they are calls of the architectures such rules are for.
 */
#include <string.h>

#include "base/str.h"
#include "seccomp/profile_oci.h"
#include "seccomp/profile_oci_reader.h"

#define NATIVE_ARCHITECTURE "amd64" /* as "arches" calls it */

static const char *const rule_fields[] = {
	"name", "names", "action", "errnoRet", "errno", "args", "comment", "includes", "excludes", NULL};
static const char *const arg_fields[] = {"index", "value", "valueTwo", "op", NULL};
static const char *const condition_fields[] = {"caps", "arches", "minKernel", NULL};
static const struct oci_action_fields rule_action = {"action", "errnoRet", "errno"};

static const struct {
	const char *name;
	enum filter_op op;
	bool masked;
} operators[] = {
	{"SCMP_CMP_NE", FILTER_NE, false},
	{"SCMP_CMP_LT", FILTER_LT, false},
	{"SCMP_CMP_LE", FILTER_LE, false},
	{"SCMP_CMP_EQ", FILTER_EQ, false},
	{"SCMP_CMP_GE", FILTER_GE, false},
	{"SCMP_CMP_GT", FILTER_GT, false},
	{"SCMP_CMP_MASKED_EQ", FILTER_EQ, true},
};

/* What "includes" or "excludes" asks for; a NULL list is not asked for. */
struct condition {
	bool arches_asked, arch_listed;
	bool caps_asked; /* the command holds none of them, whichever they are */
	bool kernel_asked, kernel_met;
};

/* A rule as read: its tests are one list in the arena. */
struct tests {
	struct filter_test *list;
	size_t n;
	bool repeated; /* some argument is looked at twice */
};

static size_t strings_check(struct oci_reader *reader, const struct oci_node *array, const char *wanted, bool *ret_found)
{
	size_t n = json_array_size(array->json);

	for (size_t i = 0; i < n; i++) {
		struct oci_node element = oci_element(reader, array, i, JSON_STRING);

		*ret_found = *ret_found || strcmp(oci_text(&element), wanted) == 0;
	}
	return n;
}

static struct condition condition_read(struct oci_reader *reader, const struct oci_node *rule, const char *field)
{
	struct oci_node object = oci_field(reader, rule, field, JSON_OBJECT);
	struct oci_node arches, caps, kernel;
	struct condition condition = {0};
	uint64_t version;
	bool ignored = false;

	if (object.json == NULL)
		return condition;
	oci_check_fields(reader, &object, condition_fields);
	arches = oci_field(reader, &object, "arches", JSON_ARRAY);
	caps = oci_field(reader, &object, "caps", JSON_ARRAY);
	kernel = oci_field(reader, &object, "minKernel", JSON_STRING);
	condition.arches_asked = strings_check(reader, &arches, NATIVE_ARCHITECTURE, &condition.arch_listed) > 0;
	condition.caps_asked = strings_check(reader, &caps, "", &ignored) > 0;
	condition.kernel_asked = kernel.json != NULL;
	if (condition.kernel_asked && !kernel_version_parse(oci_text(&kernel), true, &version))
		oci_error(reader, &kernel, "must be a kernel version like \"4.8\"");
	else if (condition.kernel_asked)
		condition.kernel_met = reader->kernel >= version;
	return condition;
}

static bool rule_applies(struct oci_reader *reader, const struct oci_node *rule)
{
	struct condition includes = condition_read(reader, rule, "includes");
	struct condition excludes = condition_read(reader, rule, "excludes");

	if (excludes.arch_listed || excludes.kernel_met)
		return false;
	return !includes.caps_asked && (!includes.arches_asked || includes.arch_listed) &&
		(!includes.kernel_asked || includes.kernel_met);
}

static bool operator_read(struct oci_reader *reader, const struct oci_node *node, struct filter_test *test,
	uint64_t value, uint64_t value_two)
{
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		if (strcmp(operators[i].name, oci_text(node)) != 0)
			continue;
		test->op = operators[i].op;
		test->mask = operators[i].masked ? value : FILTER_MASK_ALL;
		test->value = operators[i].masked ? value_two & value : value;
		return true;
	}
	oci_error(reader, node, node->json == NULL ? "is missing" : "unknown operator");
	return false;
}

static bool number_read(struct oci_reader *reader, const struct oci_node *node, json_int_t max, uint64_t *ret_value)
{
	json_int_t value = json_integer_value(node->json);

	if (node->json != NULL && value >= 0 && value <= max) {
		*ret_value = (uint64_t)value;
		return true;
	}
	if (node->json == NULL)
		oci_error(reader, node, "is missing");
	else
		oci_error(reader, node, "must be between 0 and %" JSON_INTEGER_FORMAT, max);
	return false;
}

static bool arg_read(struct oci_reader *reader, const struct oci_node *arg, struct filter_test *test)
{
	struct oci_node index = oci_field(reader, arg, "index", JSON_INTEGER);
	struct oci_node value = oci_field(reader, arg, "value", JSON_INTEGER);
	struct oci_node value_two = oci_field(reader, arg, "valueTwo", JSON_INTEGER);
	struct oci_node op = oci_field(reader, arg, "op", JSON_STRING);
	uint64_t number, first, second = 0;

	oci_check_fields(reader, arg, arg_fields);
	if (!number_read(reader, &index, FILTER_ARGS - 1, &number) || !number_read(reader, &value, INT64_MAX, &first) ||
		(value_two.json != NULL && !number_read(reader, &value_two, INT64_MAX, &second)))
		return false;
	test->arg = (unsigned)number;
	return operator_read(reader, &op, test, first, second);
}

static bool tests_read(struct oci_reader *reader, const struct oci_node *rule, struct tests *ret_tests)
{
	struct oci_node args = oci_field(reader, rule, "args", JSON_ARRAY);
	size_t n = json_array_size(args.json);
	struct tests tests = {.list = arena_alloc(reader->arena, n * sizeof *tests.list)};
	bool seen[FILTER_ARGS] = {0}, good = tests.list != NULL;

	for (size_t i = 0; i < n; i++) {
		struct oci_node arg = oci_element(reader, &args, i, JSON_OBJECT);

		if (tests.list == NULL || arg.json == NULL || !arg_read(reader, &arg, &tests.list[i])) {
			good = false;
			continue;
		}
		tests.repeated = tests.repeated || seen[tests.list[i].arg];
		seen[tests.list[i].arg] = true;
	}
	tests.n = n;
	if (tests.repeated)
		oci_warning(reader, &args, "several conditions on one argument: any one of them is enough");
	*ret_tests = tests;
	return good;
}

static void call_add(
	struct oci_reader *reader, struct oci_call *call, const struct filter_test *tests, size_t n, uint32_t action)
{
	struct filter_rule *rule;

	if (call->settled)
		return;
	if (n == 0) {
		*call = (struct oci_call){.settled = true, .action = action};
		return;
	}
	rule = arena_push(reader->arena, &call->rules, &call->n_rules);
	if (rule != NULL)
		*rule = (struct filter_rule){tests, n, action};
}

/* A settled call hides differing rules with conditions: as meant by the format, but seldom by the author. */
static bool call_hides(const struct oci_call *call, const struct tests *tests, uint32_t action)
{
	if (call->settled)
		return call->action != action;
	if (tests->n > 0)
		return false;
	for (size_t i = 0; i < call->n_rules; i++)
		if (call->rules[i].action != action)
			return true;
	return false;
}

static void name_add(struct oci_reader *reader, const struct oci_node *node, const struct tests *tests, uint32_t action)
{
	int number = syscall_number(oci_text(node));
	struct oci_call *call = &reader->calls[number];

	if (action == reader->default_action)
		return;
	if (call_hides(call, tests, action))
		oci_warning(reader, node,
			"another rule for it has a different answer; the first one without conditions holds alone");
	if (!tests->repeated) {
		call_add(reader, call, tests->list, tests->n, action);
		return;
	}
	for (size_t i = 0; i < tests->n; i++)
		call_add(reader, call, &tests->list[i], 1, action);
}

/* False where the name says nothing on x86-64: of another architecture, or unknown, which is told if the rule applies. */
static bool name_known(struct oci_reader *reader, const struct oci_node *node, bool applies)
{
	const char *name = oci_text(node), *nearest;
	int number = syscall_number(name);
	char printable[80];

	if (node->json == NULL || syscall_is_foreign(name) || (number < 0 && !applies))
		return false;
	if (number >= 0 && number < SYSCALL_NUMBERS) {
		reader->newest = number > reader->newest ? number : reader->newest;
		return true;
	}
	nearest = syscall_nearest(name, reader->arena);
	str_printable(name, printable, sizeof printable);
	if (nearest != NULL)
		oci_warning(
			reader, node, "unknown system call \"%s\", ignored; did you mean \"%s\"?", printable, nearest);
	else
		oci_warning(reader, node, "unknown system call \"%s\", ignored", printable);
	return false;
}

void oci_rule(struct oci_reader *reader, const struct oci_node *rule)
{
	struct oci_node name = oci_field(reader, rule, "name", JSON_STRING);
	struct oci_node names = oci_field(reader, rule, "names", JSON_ARRAY);
	bool applies = rule_applies(reader, rule);
	struct tests tests;
	uint32_t action = 0;

	oci_check_fields(reader, rule, rule_fields);
	oci_field(reader, rule, "comment", JSON_STRING);
	applies = oci_action(reader, rule, &rule_action, &action) && applies;
	applies = tests_read(reader, rule, &tests) && applies;
	if ((name.json == NULL || *oci_text(&name) == '\0') == (json_array_size(names.json) == 0))
		oci_error(reader, rule, "must have either \"name\" or \"names\"");
	if (name.json != NULL && name_known(reader, &name, applies) && applies)
		name_add(reader, &name, &tests, action);
	for (size_t i = 0; i < json_array_size(names.json); i++) {
		struct oci_node element = oci_element(reader, &names, i, JSON_STRING);

		if (name_known(reader, &element, applies) && applies)
			name_add(reader, &element, &tests, action);
	}
}
