#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/monotime.h"
#include "runtime/result/result.h"
#include "runtime/result/signal_name.h"
#include "tests/unit/harness.h"

TestSuite(result, .fini = harness_leak_check, .timeout = 20);

static struct plan plan_of(char **argv)
{
	return (struct plan){.argv = argv,
		.directory = "/w",
		.enforcement = {.backend = "namespaces", .isolated = true, .kernel = "6.1.0", .policy_text = {"[]", 1}}};
}

/* Nothing measured, nothing captured. */
static struct outcome outcome_of(enum outcome_status status)
{
	struct outcome outcome = {.status = status,
		.streams = {{.bytes = USAGE_UNKNOWN}, {.bytes = USAGE_UNKNOWN}},
		.wall_ns = 12 * NS_PER_MS,
		.cpu_user_ns = USAGE_UNKNOWN,
		.cpu_system_ns = USAGE_UNKNOWN,
		.memory_peak_bytes = USAGE_UNKNOWN,
		.processes_peak = USAGE_UNKNOWN,
		.started_at_ns = 1714979289ull * NS_PER_S + 10 * NS_PER_MS,
		.run_id = "00112233445566778899aabbccddeeff"};

	return outcome;
}

static json_t *json_of(const struct outcome *outcome)
{
	char *argv[] = {(char *)"prog", (char *)"", (char *)"a\xff", NULL};
	struct plan plan = plan_of(argv);
	struct error err = {0};
	cleanup_free char *text = NULL;
	json_t *json;

	harness_ok(result_json(&plan, outcome, &text, &err), &err);
	json = json_loads(text, JSON_ALLOW_NUL, NULL);
	cr_assert_not_null(json, "%s", text);
	return json;
}

/* Without the embedded report, which has tests of its own. */
static void expect_document(const struct outcome *outcome, const char *expected)
{
	json_t *json = json_of(outcome);
	char *text;

	cr_assert(json_is_object(json_object_get(json, "enforcement")));
	cr_assert_eq(json_object_set_new(json, "enforcement", json_null()), 0);
	text = json_dumps(json, JSON_COMPACT);
	cr_expect_str_eq(text, expected);
	free(text);
	json_decref(json);
}

#define NO_STREAM                                                                                             \
	"{\"encoding\":null,\"data\":null,\"bytes\":null,\"kept\":0,\"truncated\":false,\"omitted_at\":null," \
	"\"omitted_bytes\":0,\"file\":null}"
#define TAIL                                                                                                     \
	"\"argv\":[\"prog\",\"\",\"a\xef\xbf\xbd\"],\"cwd\":\"/w\",\"started_at\":\"2024-05-06T07:08:09.010Z\"," \
	"\"enforcement\":null,"

Test(result, an_exit_with_nothing_measured)
{
	struct outcome outcome = outcome_of(OUTCOME_EXITED);

	outcome.has_exit_code = true;
	outcome.exit_code = 3;
	expect_document(&outcome,
		"{\"schema\":\"pinfold.result/1\",\"run_id\":\"00112233445566778899aabbccddeeff\",\"backend\":\"namespaces\","
		"\"isolated\":true,\"status\":\"exited\",\"exit_code\":3,\"signal\":null,\"signal_number\":null,"
		"\"core_dumped\":false,\"limit_hit\":null,\"limits_touched\":[],\"stdout\":" NO_STREAM
		",\"stderr\":" NO_STREAM
		",\"usage\":{\"wall_ms\":12,\"cpu_user_ms\":null,\"cpu_system_ms\":null,\"memory_peak_bytes\":null,"
		"\"processes_peak\":null},\"usage_sampled\":[],\"survivors_killed\":0,\"violations\":[]," TAIL
		"\"error\":null}");
}

Test(result, a_limit_with_everything)
{
	const char *touched[] = {"processes"}, *sampled[] = {"memory_peak_bytes"}, *unkillable[] = {"nfsd (7)"};
	struct outcome_violation violation = {"planted", ".git/hooks", "removed"};
	struct outcome outcome = outcome_of(OUTCOME_OUT_OF_MEMORY);

	outcome.signal = SIGKILL;
	outcome.limit_name = "memory";
	outcome.limit_value = 1048576;
	outcome.limit_actual = 1048577;
	outcome.limits_touched = touched;
	outcome.n_limits_touched = 1;
	outcome.usage_sampled = sampled;
	outcome.n_usage_sampled = 1;
	outcome.unkillable = unkillable;
	outcome.n_unkillable = 1;
	outcome.violations = &violation;
	outcome.n_violations = 1;
	outcome.survivors_killed = 2;
	outcome.cpu_user_ns = 1999999;
	outcome.cpu_system_ns = 0;
	outcome.memory_peak_bytes = 5;
	outcome.processes_peak = 4;
	outcome.streams[0] = (struct outcome_stream){true, (char *)"ab", 2, 10, 1, 8};
	expect_document(&outcome,
		"{\"schema\":\"pinfold.result/1\",\"run_id\":\"00112233445566778899aabbccddeeff\",\"backend\":\"namespaces\","
		"\"isolated\":true,\"status\":\"out_of_memory\",\"exit_code\":null,\"signal\":\"SIGKILL\",\"signal_number\":9,"
		"\"core_dumped\":false,\"limit_hit\":{\"name\":\"memory\",\"limit\":1048576,\"actual\":1048577},"
		"\"limits_touched\":[\"processes\"],\"stdout\":{\"encoding\":\"utf-8\",\"data\":\"ab\",\"bytes\":10,\"kept\":2,"
		"\"truncated\":true,\"omitted_at\":1,\"omitted_bytes\":8,\"file\":null},\"stderr\":" NO_STREAM
		",\"usage\":{\"wall_ms\":12,\"cpu_user_ms\":1,\"cpu_system_ms\":0,\"memory_peak_bytes\":5,"
		"\"processes_peak\":4},\"usage_sampled\":[\"memory_peak_bytes\"],\"survivors_killed\":2,"
		"\"unkillable\":[\"nfsd (7)\"],\"violations\":[{\"kind\":\"planted\",\"path\":\".git/hooks\","
		"\"action\":\"removed\"}]," TAIL "\"error\":null}");
}

static void expect_stream(const char *data, size_t size, const char *encoding, const char *text, size_t text_size)
{
	struct outcome outcome = outcome_of(OUTCOME_EXITED);
	json_t *json, *stream, *value;

	outcome.streams[1] = (struct outcome_stream){.captured = true, .data = (char *)data, .kept = size, .bytes = size};
	json = json_of(&outcome);
	stream = json_object_get(json, "stderr");
	value = json_object_get(stream, "data");
	cr_expect_str_eq(json_string_value(json_object_get(stream, "encoding")), encoding);
	cr_expect_eq(json_string_length(value), text_size);
	cr_expect_eq(memcmp(json_string_value(value), text, text_size), 0, "%s", json_string_value(value));
	json_decref(json);
}

Test(result, bytes_survive_in_one_of_two_encodings)
{
	expect_stream("", 0, "utf-8", "", 0);
	expect_stream(NULL, 0, "utf-8", "", 0);
	expect_stream("a\0b\033[31m\xe2\x82\xac", 11, "utf-8", "a\0b\033[31m\xe2\x82\xac", 11);
	expect_stream("a\377\376\000b", 5, "base64", "Yf/+AGI=", 8);
	expect_stream("\xff", 1, "base64", "/w==", 4);
	expect_stream("\xff\xfe", 2, "base64", "//4=", 4);
	expect_stream("\xff\xfe\xfd", 3, "base64", "//79", 4);
	expect_stream("\xe2\x82", 2, "base64", "4oI=", 4);
}

Test(result, exit_statuses_follow_the_contract)
{
	static const struct {
		enum outcome_status status;
		int exit_code, signal;
		enum error_code code;
		const char *where;
		int expected;
	} cases[] = {
		{OUTCOME_EXITED, 0, 0, ERROR_NONE, "", 0},
		{OUTCOME_EXITED, 125, 0, ERROR_NONE, "", 125},
		{OUTCOME_SIGNALED, 0, SIGSEGV, ERROR_NONE, "", 139},
		{OUTCOME_TIMED_OUT, 0, SIGKILL, ERROR_NONE, "", 124},
		{OUTCOME_CPU_TIME_EXCEEDED, 0, SIGKILL, ERROR_NONE, "", 124},
		{OUTCOME_OUT_OF_MEMORY, 0, SIGKILL, ERROR_NONE, "", 137},
		{OUTCOME_CANCELLED, 0, SIGKILL, ERROR_NONE, "", 143},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_NOT_FOUND, "exec", 127},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_PERMISSION_DENIED, "exec", 126},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_LIMIT, "exec", 126},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_NOT_FOUND, "chdir", 127},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_PERMISSION_DENIED, "chdir", 126},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_IO, "seccomp", 125},
		{OUTCOME_EXITED, 0, 0, ERROR_IO, "output", 125},
		{OUTCOME_SIGNALED, 0, SIGKILL, ERROR_LIMIT, "watchdog", 125},
		{OUTCOME_SETUP_FAILED, 0, 0, ERROR_INTERNAL, "init", 125},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct outcome outcome = outcome_of(cases[i].status);

		outcome.exit_code = cases[i].exit_code;
		outcome.signal = cases[i].signal;
		outcome.error.code = cases[i].code;
		(void)snprintf(outcome.error.where, sizeof outcome.error.where, "%s", cases[i].where);
		cr_expect_eq(result_exit_status(&outcome), cases[i].expected, "case %zu", i);
	}
}

Test(result, signals_have_names)
{
	char name[SIGNAL_NAME_SIZE];

	cr_expect_str_eq(signal_name(SIGKILL, name), "SIGKILL");
	cr_expect_str_eq(signal_name(SIGXFSZ, name), "SIGXFSZ");
	cr_expect_str_eq(signal_name(SIGRTMIN + 3, name), "SIGRTMIN+3");
	cr_expect_str_eq(signal_name(33, name), "SIG33");
}

static void expect_note(const struct outcome *outcome, const char *expected)
{
	cleanup_free char *note = result_note(outcome);

	if (expected == NULL)
		cr_expect_null(note, "%s", note);
	else
		cr_expect_str_eq(note, expected);
	if (note != NULL)
		cr_expect_null(strchr(note, '\n'));
}

Test(result, notes_say_what_to_change)
{
	struct outcome outcome = outcome_of(OUTCOME_EXITED);
	const char *touched[] = {"processes"};

	expect_note(&outcome, NULL);
	outcome.survivors_killed = 1;
	outcome.limits_touched = touched;
	outcome.n_limits_touched = 1;
	expect_note(&outcome,
		"1 process was still running when the command ended, and killed; the limit of processes was met meanwhile; "
		"raise it with --pids");

	outcome = outcome_of(OUTCOME_TIMED_OUT);
	outcome.limit_name = "wall_time";
	outcome.limit_value = 2000;
	outcome.limit_actual = 2012;
	outcome.processes_peak = 3;
	expect_note(&outcome,
		"time limit of 2s reached after 2.0s; the whole tree was killed (up to 3 processes). Raise it with --timeout.");
	outcome.kill_was_needed = true;
	outcome.streams[1].omitted_bytes = 5;
	expect_note(&outcome,
		"time limit of 2s reached after 2.0s; the whole tree was killed (up to 3 processes), by SIGKILL because SIGTERM "
		"did not end it. Raise it with --timeout. 5 bytes of stderr were left out; raise the cap with --max-output");

	outcome = outcome_of(OUTCOME_OUT_OF_MEMORY);
	outcome.limit_name = "memory";
	outcome.limit_value = 67108864;
	outcome.limit_actual = 68468736;
	expect_note(
		&outcome, "memory limit of 64M reached with 65.3M; the whole tree was killed. Raise it with --memory.");

	outcome = outcome_of(OUTCOME_SIGNALED);
	outcome.signal = SIGXFSZ;
	outcome.limit_name = "file_size";
	outcome.limit_value = outcome.limit_actual = 4096;
	expect_note(&outcome, "limit of the size of a file of 4K reached. Raise it with --file-size.");
}

Test(result, notes_tell_signals_errors_and_violations)
{
	struct outcome outcome = outcome_of(OUTCOME_SIGNALED);
	struct outcome_violation violation = {"planted", "a\nb", "removed"};

	outcome.signal = SIGSEGV;
	outcome.core_dumped = true;
	expect_note(&outcome, "ended by SIGSEGV (core dumped)");
	outcome.signal = SIGPIPE;
	expect_note(&outcome, NULL);
	outcome.violations = &violation;
	outcome.n_violations = 1;
	expect_note(&outcome, "1 violation: planted a\\x0ab (removed)");

	outcome = outcome_of(OUTCOME_SETUP_FAILED);
	(void)error_set_errno(&outcome.error, ERROR_NOT_FOUND, ENOENT, "exec", "cannot execute \"x\"");
	expect_note(&outcome, "cannot execute \"x\": No such file or directory (not_found)");
}

Test(result, errors_are_documents_too)
{
	const char *details[] = {"p.json:1:2: a: wrong", "p.json:3:4: b: wrong"};
	struct error error = {0};
	cleanup_free char *text = NULL;
	json_t *json;
	char *compact;

	(void)error_set_errno(&error, ERROR_IO, ENOSPC, "write", "cannot write %s", "/x");
	error_set_fix(&error, "make room");
	error_add_context(&error, "path", "/x");
	error.retryable = ERROR_RETRY_YES;
	(void)snprintf(error.op, sizeof error.op, "run");
	text = result_error_json(&error, details, 2);
	json = json_loads(text, 0, NULL);
	compact = json_dumps(json, JSON_COMPACT);
	cr_expect_str_eq(compact,
		"{\"schema\":\"pinfold.error/1\",\"code\":\"io\",\"op\":\"run\",\"message\":\"cannot write /x: No space left on "
		"device; make room\",\"context\":{\"path\":\"/x\"},\"retryable\":true,\"details\":[\"p.json:1:2: a: wrong\","
		"\"p.json:3:4: b: wrong\"]}");
	free(compact);
	json_decref(json);
}
