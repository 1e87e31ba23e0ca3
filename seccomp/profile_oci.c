/*
 * Reading a whole profile file, and what its rules come to for each call.
 *
 * A profile can only be read as its author meant it or be refused: what is not understood is an error with its place. The
 * exceptions are calls and architectures that do not exist here: those of other architectures say nothing about this one,
 * and a 32-bit program is killed whatever the profile asks, because the refusals of overlay.c speak of x86-64 calls.
 *
 * A call newer than every call the profile names is ENOSYS where the default is an errno: its author could not know it,
 * and a library that is told EPERM does not fall back to the older call.
 */
#include "seccomp/profile_oci.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/fd.h"
#include "base/str.h"
#include "seccomp/profile_oci_reader.h"

#define PROFILE_SIZE_MAX    ((size_t)1 << 20)
#define NATIVE_ARCHITECTURE "SCMP_ARCH_X86_64"

static const char *const profile_fields[] = {"defaultAction", "defaultErrnoRet", "defaultErrno", "architectures",
	"archMap", "flags", "listenerPath", "listenerMetadata", "syscalls", NULL};
static const char *const map_fields[] = {"architecture", "subArchitectures", NULL};
static const struct oci_action_fields default_action = {"defaultAction", "defaultErrnoRet", "defaultErrno"};

static const char *const architectures[] = {NATIVE_ARCHITECTURE, "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_ARM",
	"SCMP_ARCH_AARCH64", "SCMP_ARCH_MIPS", "SCMP_ARCH_MIPS64", "SCMP_ARCH_MIPS64N32", "SCMP_ARCH_MIPSEL",
	"SCMP_ARCH_MIPSEL64", "SCMP_ARCH_MIPSEL64N32", "SCMP_ARCH_PPC", "SCMP_ARCH_PPC64", "SCMP_ARCH_PPC64LE",
	"SCMP_ARCH_S390", "SCMP_ARCH_S390X", "SCMP_ARCH_PARISC", "SCMP_ARCH_PARISC64", "SCMP_ARCH_RISCV64",
	"SCMP_ARCH_LOONGARCH64", "SCMP_ARCH_M68K", "SCMP_ARCH_SH", "SCMP_ARCH_SHEB", NULL};

/* What the flags ask of the installation. None weakens a filter by being left out. */
static const char *const flags[] = {"SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_LOG",
	"SECCOMP_FILTER_FLAG_SPEC_ALLOW", "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", NULL};

bool kernel_version_parse(const char *text, bool whole, uint64_t *ret_version)
{
	unsigned long major, minor;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	major = strtoul(text, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return false;
	minor = strtoul(end + 1, &end, 10);
	if (major > UINT32_MAX || minor > UINT32_MAX || (whole && *end != '\0'))
		return false;
	*ret_version = KERNEL_VERSION_OF(major, minor);
	return true;
}

static void word_check(struct oci_reader *reader, const struct oci_node *node, const char *const *words)
{
	const char *nearest;

	if (node->json == NULL)
		return;
	for (size_t i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], oci_text(node)) == 0)
			return;
	nearest = str_nearest(oci_text(node), words);
	if (nearest != NULL)
		oci_error(reader, node, "unknown; did you mean \"%s\"?", nearest);
	else
		oci_error(reader, node, "unknown");
}

/* True where the list is there and names `wanted`; each element must be one of words. */
static bool words_check(
	struct oci_reader *reader, const struct oci_node *array, const char *const *words, const char *wanted)
{
	bool found = false;

	for (size_t i = 0; i < json_array_size(array->json); i++) {
		struct oci_node element = oci_element(reader, array, i, JSON_STRING);

		word_check(reader, &element, words);
		found = found || strcmp(oci_text(&element), wanted) == 0;
	}
	return found;
}

static void map_check(struct oci_reader *reader, const struct oci_node *map)
{
	for (size_t i = 0; i < json_array_size(map->json); i++) {
		struct oci_node entry = oci_element(reader, map, i, JSON_OBJECT);
		struct oci_node architecture = oci_field(reader, &entry, "architecture", JSON_STRING);
		struct oci_node below = oci_field(reader, &entry, "subArchitectures", JSON_ARRAY);

		oci_check_fields(reader, &entry, map_fields);
		word_check(reader, &architecture, architectures);
		words_check(reader, &below, architectures, NATIVE_ARCHITECTURE);
	}
}

static void architectures_check(struct oci_reader *reader, const struct oci_node *root)
{
	struct oci_node list = oci_field(reader, root, "architectures", JSON_ARRAY);
	struct oci_node map = oci_field(reader, root, "archMap", JSON_ARRAY);
	bool native = words_check(reader, &list, architectures, NATIVE_ARCHITECTURE);

	map_check(reader, &map);
	if (json_array_size(list.json) > 0 && json_array_size(map.json) > 0)
		oci_error(reader, &map, "stands beside \"architectures\"; only one of them may be given");
	if (json_array_size(list.json) > 0 && !native)
		oci_error(reader, &list, "does not name " NATIVE_ARCHITECTURE ", so the profile is not for this machine");
}

static void installation_check(struct oci_reader *reader, const struct oci_node *root)
{
	struct oci_node list = oci_field(reader, root, "flags", JSON_ARRAY);
	struct oci_node path = oci_field(reader, root, "listenerPath", JSON_STRING);
	struct oci_node metadata = oci_field(reader, root, "listenerMetadata", JSON_STRING);

	if (words_check(reader, &list, flags, "SECCOMP_FILTER_FLAG_LOG"))
		oci_warning(reader, &list, "SECCOMP_FILTER_FLAG_LOG is ignored: refused calls are not logged");
	if (*oci_text(&path) != '\0')
		oci_error(reader, &path, "a listener is not supported");
	if (*oci_text(&metadata) != '\0')
		oci_error(reader, &metadata, "a listener is not supported");
}

static void document_read(struct oci_reader *reader, const struct oci_node *root)
{
	struct oci_node syscalls;

	oci_check_fields(reader, root, profile_fields);
	architectures_check(reader, root);
	installation_check(reader, root);
	if (!oci_action(reader, root, &default_action, &reader->default_action))
		return;
	syscalls = oci_field(reader, root, "syscalls", JSON_ARRAY);
	for (size_t i = 0; i < json_array_size(syscalls.json); i++) {
		struct oci_node rule = oci_element(reader, &syscalls, i, JSON_OBJECT);

		if (rule.json != NULL)
			oci_rule(reader, &rule);
	}
}

/* The order of the kernel itself: to kill the process is the hardest, to allow the softest. */
static int32_t action_softness(uint32_t action)
{
	return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

/* By insertion, for a call has few rules and equals must keep their order. */
static void rules_sort(struct filter_rule *rules, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct filter_rule rule = rules[i];
		size_t at = i;

		for (; at > 0 && action_softness(rules[at - 1].action) > action_softness(rule.action); at--)
			rules[at] = rules[at - 1];
		rules[at] = rule;
	}
}

static void plan_fill(struct oci_reader *reader, struct filter_plan *plan)
{
	bool is_errno = (reader->default_action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
	uint32_t newer = is_errno ? FILTER_ERRNO(ENOSYS) : reader->default_action;

	plan->beyond = newer;
	for (int number = 0; number < SYSCALL_NUMBERS; number++) {
		struct oci_call *call = &reader->calls[number];
		struct filter_decision *decision = &plan->decisions[number];

		if (call->settled) {
			filter_decision_set(decision, call->action);
			continue;
		}
		rules_sort(call->rules, call->n_rules);
		*decision = (struct filter_decision){
			call->rules, call->n_rules, number > reader->newest ? newer : reader->default_action};
	}
}

int profile_oci_parse(const char *text, size_t size, const char *label, uint64_t kernel, struct filter_plan *plan,
	struct arena *arena, struct diag *diag, struct error *err)
{
	cleanup_with(json_places_freep) struct json_places *places = NULL;
	cleanup_json json_t *json = NULL;
	struct oci_reader *reader = arena_alloc(arena, sizeof *reader);
	struct oci_node root = {0};

	if (reader == NULL)
		return error_no_memory(err);
	if (json_parse_places(text, size, label, &json, &places, diag) < 0)
		return diag_check(diag, ERROR_POLICY_INVALID, err);
	*reader = (struct oci_reader){
		.label = label, .places = places, .kernel = kernel, .arena = arena, .diag = diag, .newest = -1};
	root.json = json;
	if (!json_is_object(json))
		oci_error(reader, &root, "a profile must be an object");
	else
		document_read(reader, &root);
	plan_fill(reader, plan);
	if (diag_check(diag, ERROR_POLICY_INVALID, err) < 0)
		return -1;
	return arena_check(arena, err);
}

int profile_oci_read(const char *path, struct filter_plan *plan, struct arena *arena, struct diag *diag, struct error *err)
{
	cleanup_buf struct buf text = {0};
	struct utsname host;
	uint64_t kernel;

	if (uname(&host) < 0 || !kernel_version_parse(host.release, false, &kernel))
		return error_set(err, ERROR_INTERNAL, "uname", "the kernel's version cannot be read");
	if (fd_read_file(AT_FDCWD, path, PROFILE_SIZE_MAX, &text, err) < 0)
		return error_prefix(err, "system call profile %s", path);
	return profile_oci_parse(buf_str(&text), text.size, path, kernel, plan, arena, diag, err);
}
