/*
 * Plans as documents: what `run --dry-run` shows for the shipped policies and some written ones, on hosts that are
 * made up, in a tree that is made up, against tests/golden. To write the files anew after a change that is meant:
 *
 *     PINFOLD_GOLDEN=write build/tests/unit/test_plan_golden; git diff tests/golden
 *
 * What depends on this machine's own file tree and kernel is left out: of the mounts only those in the made-up tree
 * are compared, for the built-ins those at the places that every plan has, too, and of the filter only whether there is
 * one. Keys that are null are left out to make the files short; '@' is the directory of the tree.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "tests/unit/harness.h"
#include "tests/unit/world.h"

TestSuite(plan_golden, .fini = harness_leak_check);

/* The places that every plan has, whatever the policy. */
static const char *const fixed_targets[] = {"/", "/tmp", "/run", "/etc/passwd", "/etc/group", "/usr", "/proc",
	"/proc/sys", "/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
	"/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/ptmx", "/dev/pts", "/dev/shm"};

static bool is_compared(const struct world *world, const char *target, bool whole)
{
	size_t size = strlen(world->root);

	for (size_t i = 0; whole && i < sizeof fixed_targets / sizeof *fixed_targets; i++) {
		if (strcmp(target, fixed_targets[i]) == 0)
			return true;
	}
	return strncmp(target, "/opt/made-up", 12) == 0 ||
		(strncmp(target, world->root, size) == 0 && target[size] == '/');
}

static json_t *compared_mounts(const struct world *world, const json_t *mounts, bool whole)
{
	json_t *kept = json_array();
	size_t i;
	json_t *mount;

	json_array_foreach(mounts, i, mount)
	{
		if (is_compared(world, json_string_value(json_object_get(mount, "target")), whole))
			cr_assert_eq(json_array_append(kept, mount), 0);
	}
	return kept;
}

static void drop_nulls(json_t *json)
{
	const char *key;
	json_t *value;
	void *next;
	size_t i;

	json_object_foreach_safe(json, next, key, value)
	{
		if (json_is_null(value))
			(void)json_object_del(json, key);
		else
			drop_nulls(value);
	}
	json_array_foreach(json, i, value) drop_nulls(value);
}

/* One line for each member and each element of a list, in the order in which they came. */
static void render(struct buf *buf, const json_t *json, int depth)
{
	const char *separator = "\n";
	const char *key;
	json_t *value;
	size_t i;

	if (depth < 2 && json_is_object(json)) {
		buf_append_str(buf, "{");
		json_object_foreach((json_t *)(uintptr_t)json, key, value)
		{
			buf_printf(buf, "%s%*s\"%s\": ", separator, depth * 2 + 2, "", key);
			render(buf, value, depth + 1);
			separator = ",\n";
		}
		buf_printf(buf, "\n%*s}", depth * 2, "");
	} else if (json_is_array(json) && json_is_object(json_array_get(json, 0))) {
		buf_append_str(buf, "[");
		json_array_foreach(json, i, value)
		{
			buf_printf(buf, "%s%*s", separator, depth * 2 + 2, "");
			render(buf, value, 9);
			separator = ",\n";
		}
		buf_printf(buf, "\n%*s]", depth * 2, "");
	} else {
		char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_COMPACT);

		cr_assert_not_null(text);
		buf_append_str(buf, text);
		free(text);
	}
}

/* '@' for the tree's directory. */
static char *made_neutral(const struct world *world, const char *text)
{
	struct buf buf = {0};
	size_t size = strlen(world->root);

	while (*text != '\0') {
		if (strncmp(text, world->root, size) == 0) {
			buf_append_char(&buf, '@');
			text += size;
		} else {
			buf_append_char(&buf, *text++);
		}
	}
	return buf_steal(&buf);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static void compare(const struct world *world, const char *name, const json_t *json)
{
	char path[PATH_MAX];
	const char *mode = getenv("PINFOLD_GOLDEN");
	cleanup_buf struct buf buf = {0};
	cleanup_free char *actual = NULL;
	cleanup_free char *expected = NULL;

	render(&buf, json, 0);
	buf_append_char(&buf, '\n');
	actual = made_neutral(world, buf_str(&buf));
	(void)snprintf(path, sizeof path, GOLDEN_DIRECTORY "/%s.json", name);
	if (mode != NULL && strcmp(mode, "write") == 0) {
		write_file(path, actual);
		return;
	}
	expected = world_read_file(path);
	cr_expect_str_eq(actual, expected, "%s.json: got\n%s", name, actual);
}

static const char *allowed(const struct planned *planned, struct error *err)
{
	*err = (struct error){0};
	return plan_allows_run(planned->plan, planned->policy, err) == 0 ? "yes" : err->text;
}

/* Without anything hidden or held in the made-up tree, the row is about this machine's own secrets. */
static void drop_foreign_row(json_t *json)
{
	json_t *features = json_object_get(json_object_get(json, "enforcement"), "features");
	cleanup_free char *mounts = json_dumps(json_object_get(json, "mounts"), JSON_COMPACT);
	json_t *row;
	size_t i;

	if (strstr(mounts, "\"monitor\"") != NULL || json_array_size(json_object_get(json, "guards")) > 0 ||
		json_array_size(json_object_get(json, "namespaces")) == 0)
		return;
	json_array_foreach(features, i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "name")), "protected_paths") == 0)
			break;
	}
	(void)json_array_remove(features, i);
}

static json_t *document_of(const struct world *world, const struct planned *planned, bool whole)
{
	struct error err = {0};
	cleanup_free char *text = NULL;
	json_t *json;

	harness_ok(plan_json(planned->plan, &text, &err), &err);
	json = json_loads(text, 0, NULL);
	cr_assert_not_null(json);
	(void)json_object_set_new(json, "mounts", compared_mounts(world, json_object_get(json, "mounts"), whole));
	cr_assert_eq(
		json_integer_value(json_object_get(json, "filter_instructions")) > 0, plan_is_confined(planned->plan));
	(void)json_object_del(json, "filter_instructions");
	(void)json_object_del(json_object_get(json, "enforcement"), "policy_digest");
	(void)json_object_set_new(json, "may_run", json_string(allowed(planned, &err)));
	drop_foreign_row(json);
	drop_nulls(json);
	return json;
}

static json_t *refusal_of(const struct planned *planned)
{
	json_t *json = json_object();
	json_t *details = json_array();

	for (size_t i = 0; i < planned->diag.n; i++)
		(void)json_array_append_new(details, json_string(planned->diag.entries[i].text));
	(void)json_object_set_new(json, "code", json_string(error_code_name(planned->err.code)));
	(void)json_object_set_new(json, "text", json_string(planned->err.text));
	(void)json_object_set_new(json, "details", details);
	return json;
}

static __attribute__((noinline)) void check_plan(
	const struct world *world, const char *host, const char *policy, const char *name, bool whole)
{
	cleanup_planned struct planned planned = world_plan(world, host, policy);
	cleanup_json json_t *json = planned.plan != NULL ? document_of(world, &planned, whole) : refusal_of(&planned);

	compare(world, name, json);
}

Test(plan_golden, built_in_policies)
{
	static const char *const policies[] = {
		":read-only", ":workspace-write", ":eval", ":strict", ":unconfined", ":archive", ":git"};
	static const char *const hosts[] = {"full", "full-user"};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
		for (size_t j = 0; j < sizeof hosts / sizeof *hosts; j++) {
			char name[64];

			(void)snprintf(name, sizeof name, "%s.%s", policies[i] + 1, hosts[j]);
			check_plan(&world, hosts[j], policies[i], name, true);
		}
	}
	world_done(&world);
}

static char *read_policy(const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, GOLDEN_DIRECTORY "/policies/%s.jsonc", name);
	return world_read_file(path);
}

Test(plan_golden, written_policies)
{
	static const struct {
		const char *policy, *host;
	} cases[] = {
		{"network-host", "full-user"},
		{"memory-cgroup", "full"},
		{"memory-cgroup", "hybrid-root"},
		{"memory-rlimit-as", "full-user"},
		{"memory-watchdog", "no-cgroup"},
		{"require-met", "full"},
		{"require-unmet", "hybrid-user"},
		{"best-effort", "no-userns"},
		{"best-effort", "old-kernel"},
		{"identity-caller", "full"},
		{"tmpfs", "full-user"},
		{"bind", "full"},
		{"deny-protect", "full"},
		{"deny-protect", "full-user"},
		{"deny-write", "full-user"},
		{"root-directory", "full-user"},
		{"root-empty", "full"},
		{"every-limit", "hybrid-root"},
		{"no-limit", "full-user"},
	};
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cleanup_free char *text = read_policy(cases[i].policy);
		char name[64];

		(void)snprintf(name, sizeof name, "%s.%s", cases[i].policy, cases[i].host);
		check_plan(&world, cases[i].host, text, name, false);
	}
	world_done(&world);
}

/* Below /tmp, which is private inside, the workspace is the only thing of the host's. */
Test(plan_golden, a_workspace_below_tmp)
{
	struct world world;

	world_init(&world, "/tmp");
	check_plan(&world, "full", ":workspace-write", "workspace-write-below-tmp.full", false);
	world_done(&world);
}

/* Who asks for a row must find it, whatever the backend. */
Test(plan_golden, without_a_boundary_no_row_is_missing)
{
	struct world world;

	world_init(&world, "/var/tmp");
	cleanup_planned struct planned confined = world_plan(&world, "full", ":read-only");
	cleanup_planned struct planned unconfined = world_plan(&world, "full", ":unconfined");
	cr_assert(confined.plan != NULL && unconfined.plan != NULL);
	cr_assert_eq(confined.plan->enforcement.n_rows, unconfined.plan->enforcement.n_rows);
	for (size_t i = 0; i < confined.plan->enforcement.n_rows; i++)
		cr_expect_str_eq(confined.plan->enforcement.rows[i].name, unconfined.plan->enforcement.rows[i].name);
	world_done(&world);
}

static json_t *summary(const struct planned *planned)
{
	json_t *list = json_array();
	struct error err;

	if (planned->plan == NULL) {
		(void)json_array_append_new(list, json_string(planned->err.text));
		return list;
	}
	(void)json_array_append_new(
		list, json_sprintf("may run: %s", strcmp(allowed(planned, &err), "yes") == 0 ? "yes" : "no"));
	for (size_t i = 0; i < planned->plan->enforcement.n_rows; i++) {
		const struct enforcement_row *row = &planned->plan->enforcement.rows[i];

		if (strcmp(row->name, "protected_paths") != 0 && row->state >= ROW_DEGRADED)
			(void)json_array_append_new(list,
				json_sprintf("%s%s: %s", row->limit ? "limits." : "", row->name,
					row_state_name(row->state)));
	}
	return list;
}

/* Every host with every built-in, strict and best-effort: who may run, and what does not hold in full. */
Test(plan_golden, matrix)
{
	cleanup_json json_t *matrix = json_object();
	struct world world;

	world_init(&world, "/var/tmp");
	for (size_t i = 0; world_hosts[i] != NULL; i++) {
		json_t *host = json_object();

		for (size_t j = 0; policy_builtin_name(j) != NULL; j++) {
			const char *name = policy_builtin_name(j);
			cleanup_free char *best_effort = NULL;
			cleanup_free char *key = NULL;

			cr_assert_gt(asprintf(&best_effort,
					     "{\"version\": 1, \"extends\": \"%s\", \"enforcement\": \"best-effort\"}",
					     name),
				0);
			cr_assert_gt(asprintf(&key, "%s best-effort", name), 0);
			cleanup_planned struct planned strict = world_plan(&world, world_hosts[i], name);
			cleanup_planned struct planned loose = world_plan(&world, world_hosts[i], best_effort);

			(void)json_object_set_new(host, name, summary(&strict));
			(void)json_object_set_new(host, key, summary(&loose));
		}
		(void)json_object_set_new(matrix, world_hosts[i], host);
	}
	compare(&world, "matrix", matrix);
	world_done(&world);
}
