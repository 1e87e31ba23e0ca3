/* The capability report: verdict, JSON and the table for people, against whole documents written out here. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/unit/harness.h"

TestSuite(enforcement, .fini = harness_leak_check);
#include "runtime/plan/enforcement.h"
#include "runtime/policy/digest.h"

static struct enforcement_row rows_enforced[] = {
	{.name = "user_namespace", .state = ROW_ENFORCED, .strength = STRENGTH_KERNEL, .mechanism = "clone3"},
	{.name = "landlock", .state = ROW_OFF},
	{.name = "wall_time",
		.limit = true,
		.has_asked = true,
		.asked = 60e9,
		.unit = "ns",
		.state = ROW_ENFORCED,
		.strength = STRENGTH_SUPERVISED,
		.scope = SCOPE_TREE,
		.mechanism = "supervisor"},
	{.name = "memory", .limit = true, .unit = "bytes", .state = ROW_OFF},
};

static struct enforcement_row rows_mixed[] = {
	{.name = "network",
		.state = ROW_DEGRADED,
		.strength = STRENGTH_KERNEL,
		.mechanism = "namespace",
		.reason = "the loopback interface cannot be brought up",
		.fix = "allow it"},
	{.name = "memory",
		.limit = true,
		.has_asked = true,
		.asked = 536870912,
		.unit = "bytes",
		.state = ROW_UNENFORCEABLE,
		.reason = "no memory controller",
		.fix = "delegate the controller"},
	{.name = "cpus",
		.limit = true,
		.has_asked = true,
		.asked = 1.5,
		.unit = "cpus",
		.state = ROW_ENFORCED,
		.strength = STRENGTH_KERNEL,
		.scope = SCOPE_PROCESS,
		.mechanism = "affinity",
		.reason = "2 whole CPUs"},
};

static const char *warnings[] = {"read path \"/opt/x\" is missing"};

/* Its digest is that of the whole table of secrets in brackets. */
static const struct policy_text policy_text = {"[]", 1};

static struct enforcement table(struct enforcement_row *rows, size_t n)
{
	return (struct enforcement){.rows = rows,
		.n_rows = n,
		.backend = "namespaces",
		.isolated = true,
		.kernel = "6.1.0",
		.policy_text = policy_text};
}

static char *text_of(const struct enforcement *enforcement, bool color)
{
	struct error err = {0};
	char *text = NULL;

	cr_assert_eq(enforcement_text(enforcement, color, &text, &err), 0, "%s", err.text);
	return text;
}

static json_t *json_of(const struct enforcement *enforcement)
{
	struct error err = {0};
	json_t *report = NULL;

	cr_assert_eq(enforcement_json(enforcement, &report, &err), 0, "%s", err.text);
	return report;
}

Test(enforcement, verdict_is_the_worst_row)
{
	struct enforcement e = table(rows_mixed, 3);

	cr_assert_eq(enforcement_verdict(&e), ROW_UNENFORCEABLE);
	e.n_rows = 1;
	cr_assert_eq(enforcement_verdict(&e), ROW_DEGRADED);
	e.n_rows = 0;
	cr_assert_eq(enforcement_verdict(&e), ROW_ENFORCED);
}

Test(enforcement, find_tells_limits_from_features)
{
	struct enforcement e = table(rows_mixed, 3);

	cr_assert_eq(enforcement_find(&e, true, "memory"), &rows_mixed[1]);
	cr_assert_null(enforcement_find(&e, false, "memory"));
	cr_assert_eq(enforcement_find(&e, false, "network"), &rows_mixed[0]);
}

Test(enforcement, json_is_the_documented_report)
{
	struct enforcement e = table(rows_mixed, 3);
	cleanup_json json_t *report = NULL, *expected = NULL;
	char digest[POLICY_DIGEST_SIZE];

	e.warnings = warnings;
	e.n_warnings = 1;
	report = json_of(&e);
	expected = json_loads(
		"{\"schema\": \"pinfold.report/1\", \"verdict\": \"unenforceable\", \"backend\": \"namespaces\","
		" \"isolated\": true, \"kernel\": \"6.1.0\", \"policy_digest\": \"the policy's\","
		" \"features\": [{\"name\": \"network\", \"state\": \"degraded\", \"mechanism\": \"namespace\","
		"  \"strength\": \"kernel\", \"reason\": \"the loopback interface cannot be brought up\","
		"  \"fix\": \"allow it\"}],"
		" \"limits\": [{\"name\": \"memory\", \"asked\": 536870912, \"unit\": \"bytes\","
		"  \"state\": \"unenforceable\", \"mechanism\": null, \"strength\": null, \"scope\": null,"
		"  \"reason\": \"no memory controller\", \"fix\": \"delegate the controller\"},"
		" {\"name\": \"cpus\", \"asked\": 1.5, \"unit\": \"cpus\", \"state\": \"enforced\","
		"  \"mechanism\": \"affinity\", \"strength\": \"kernel\", \"scope\": \"process\","
		"  \"reason\": \"2 whole CPUs\", \"fix\": null}],"
		" \"warnings\": [\"read path \\\"/opt/x\\\" is missing\"]}",
		0, NULL);
	cr_assert_eq(policy_digest(&policy_text, digest, NULL), 0);
	cr_assert_eq(json_object_set_new(expected, "policy_digest", json_string(digest)), 0);
	cr_assert_not_null(expected);
	cr_assert(json_equal(report, expected));
}

Test(enforcement, json_times_are_whole_milliseconds_and_unlimited_is_null)
{
	struct enforcement_row row = rows_enforced[2];
	struct enforcement e = table(&row, 1);
	static const struct {
		double ns;
		json_int_t ms;
	} cases[] = {{60e9, 60000}, {1, 1}, {1500001, 2}, {0, 0}, {1e30, INT64_MAX}, {-5, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cleanup_json json_t *report = NULL;
		json_t *limit;

		row.asked = cases[i].ns;
		report = json_of(&e);
		limit = json_array_get(json_object_get(report, "limits"), 0);
		cr_assert_eq(json_integer_value(json_object_get(limit, "asked")), cases[i].ms);
		cr_assert_str_eq(json_string_value(json_object_get(limit, "unit")), "ms");
	}
	row.has_asked = false;
	cleanup_json json_t *report = json_of(&e);
	cr_assert(json_is_null(json_object_get(json_array_get(json_object_get(report, "limits"), 0), "asked")));
}

Test(enforcement, text_is_a_table)
{
	struct enforcement e = table(rows_enforced, 4);
	cleanup_free char *text = text_of(&e, false);

	cr_assert_str_eq(text,
		"Backend namespaces on Linux 6.1.0, isolated\n"
		"\n"
		"Features\n"
		"  user_namespace  enforced  clone3      kernel\n"
		"  landlock        off\n"
		"\n"
		"Limits\n"
		"  wall_time        60s  enforced  supervisor  supervised, tree\n"
		"  memory          none  off\n"
		"\n"
		"Verdict: enforced; all that was asked holds\n");
}

Test(enforcement, text_says_why_and_how_to_mend)
{
	struct enforcement e = table(rows_mixed, 3);
	cleanup_free char *text = NULL;

	e.warnings = warnings;
	e.n_warnings = 1;
	text = text_of(&e, false);
	cr_assert_str_eq(text,
		"Backend namespaces on Linux 6.1.0, isolated\n"
		"\n"
		"Features\n"
		"  network  degraded       namespace  kernel\n"
		"      why: the loopback interface cannot be brought up\n"
		"      fix: allow it\n"
		"\n"
		"Limits\n"
		"  memory   512M  unenforceable\n"
		"      why: no memory controller\n"
		"      fix: delegate the controller\n"
		"  cpus      1.5  enforced       affinity   kernel, process\n"
		"      note: 2 whole CPUs\n"
		"\n"
		"Warnings\n"
		"  read path \"/opt/x\" is missing\n"
		"\n"
		"Verdict: unenforceable; a strict run is refused because of: limits.memory\n");
}

Test(enforcement, text_marks_and_colours_only_where_asked)
{
	struct enforcement e = table(rows_enforced, 2);
	cleanup_free char *plain = NULL, *marked = NULL, *unmarked = NULL;

	setenv("LC_ALL", "C.UTF-8", 1);
	plain = text_of(&e, false);
	marked = text_of(&e, true);
	setenv("LC_ALL", "C", 1);
	unmarked = text_of(&e, true);
	cr_assert_null(strchr(plain, '\033'));
	cr_assert_null(strstr(plain, "\u2713"));
	cr_assert_not_null(strstr(marked, "\u2713"));
	cr_assert_not_null(strstr(marked, "\033[32menforced"));
	cr_assert_null(strstr(unmarked, "\u2713"));
	cr_assert_not_null(strstr(unmarked, "\033[32menforced"));
}

Test(enforcement, text_lets_no_control_character_through)
{
	struct enforcement_row row = rows_mixed[0];
	struct enforcement e = table(&row, 1);
	static const struct {
		const char *reason, *shown;
	} cases[] = {
		{"a\033[2Jb", "a\\x1b[2Jb"},
		{"a\nb\x7f", "a\\x0ab\\x7f"},
		{"\xc2\x9b"
		 "2J \u00e9",
			"\\x9b2J \u00e9"},
		{"\x9b"
		 "2J\xff",
			"\\x9b2J\\xff"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cleanup_free char *text = NULL;

		row.reason = cases[i].reason;
		text = text_of(&e, false);
		cr_assert_not_null(strstr(text, cases[i].shown), "case %zu: %s", i, text);
	}
}

Test(enforcement, text_breaks_long_lines_at_spaces)
{
	struct enforcement_row row = rows_mixed[0];
	struct enforcement e = table(&row, 1);
	cleanup_free char *text = NULL;
	const char *line;

	row.reason = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
		     "seventeen eighteen nineteen twenty";
	text = text_of(&e, false);
	cr_assert_not_null(strstr(text, "\n           "));
	for (line = text; *line != '\0'; line = strchr(line, '\n') + 1)
		cr_assert_leq(strcspn(line, "\n"), 100);
}
