/* What a client may get wrong, each of which is an error and nothing worse; and what outlives what. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/library/client.h"

static void refused_at(int line, int r, pinfold_error **err, const char *code)
{
	if (r >= 0 || *err == NULL)
		client_fail(__FILE__, line, "refused", " with %s, but it returned %d", code, r);
	else if (strcmp(pinfold_error_code(*err), code) != 0)
		client_fail(__FILE__, line, "refused", " with %s, but: %s", code, pinfold_error_message(*err));
	*err = pinfold_error_free(*err);
}
#define REFUSED(call, code) refused_at(__LINE__, call, &err, code)

static void commands_are_checked(void)
{
	static const char *const none[] = {NULL};
	static const char *const empty[] = {"", NULL};
	static const char *const good[] = {"/bin/true", NULL};
	static const char *const no_equals[] = {"PATH=/bin", "BROKEN", NULL};
	static const char *const no_name[] = {"=value", NULL};
	pinfold_command *command = NULL;
	pinfold_error *err = NULL;

	REFUSED(pinfold_command_new(none, &command, &err), "usage");
	REFUSED(pinfold_command_new(empty, &command, &err), "usage");
	REFUSED(pinfold_command_new(NULL, &command, &err), "usage");
	CHECK(command == NULL, "written to on failure");
	command = client_command(good);
	REFUSED(pinfold_command_set_environment(command, no_equals, &err), "usage");
	REFUSED(pinfold_command_set_environment(command, no_name, &err), "usage");
	REFUSED(pinfold_command_set_workspace(command, "", &err), "usage");
	REFUSED(pinfold_command_set_directory(command, NULL, &err), "usage");
	REFUSED(pinfold_command_set_kill_after(command, UINT64_MAX, &err), "usage");
	REFUSED(pinfold_command_set_stdin(command, (enum pinfold_stdin)99, -1, NULL, 0, &err), "usage");
	REFUSED(pinfold_command_set_stdin(command, PINFOLD_STDIN_DATA, -1, NULL, 10, &err), "usage");
	REFUSED(pinfold_command_set_stdin(command, PINFOLD_STDIN_FD, -1, NULL, 0, &err), "usage");
	REFUSED(pinfold_command_set_output(command, (enum pinfold_output)99, -1, -1, &err), "usage");
	CHECK(pinfold_command_set_environment(command, no_name, NULL) < 0, "without a place for the error");
	(void)pinfold_command_free(command);
}

static void start_refuses(const char *workspace, const char *directory, const char *code)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_run *run = NULL;
	pinfold_error *err = NULL;

	if (workspace != NULL)
		REQUIRE(pinfold_command_set_workspace(command, workspace, &err) == 0);
	if (directory != NULL)
		REQUIRE(pinfold_command_set_directory(command, directory, &err) == 0);
	REFUSED(pinfold_run_start(client_host(), policy, command, &run, &err), code);
	CHECK(run == NULL);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void workspaces_are_checked(void)
{
	start_refuses("/nowhere/at/all", NULL, "workspace_root_not_found");
	start_refuses("/etc/passwd", NULL, "workspace_root_not_found");
	start_refuses("/proc", NULL, "policy_invalid");
	start_refuses(NULL, "/nowhere/at/all", "not_found");
	start_refuses(NULL, "/proc/self/fd", "policy_invalid");
}

static void a_result_is_given_once(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_run *run = client_start(policy, command);
	pinfold_result *result = client_wait(run);
	pinfold_result *second = NULL;
	pinfold_error *err = NULL;

	REFUSED(pinfold_run_wait(run, &second, &err), "usage");
	CHECK(second == NULL);
	CHECK(pinfold_run_dispatch(run, NULL) == 1, "it is over");
	CHECK(pinfold_run_resize(run, 24, 80, NULL) <= 0);
	pinfold_run_cancel(run);
	(void)pinfold_run_free(run);
	(void)pinfold_result_free(result);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void a_run_without_a_terminal_has_no_size(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 0.1");
	pinfold_run *run = client_start(policy, command);
	pinfold_error *err = NULL;

	REFUSED(pinfold_run_resize(run, 24, 80, &err), "usage");
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void nothing_can_be_freed(void)
{
	CHECK(pinfold_error_free(NULL) == NULL);
	CHECK(pinfold_host_free(NULL) == NULL);
	CHECK(pinfold_policy_free(NULL) == NULL);
	CHECK(pinfold_command_free(NULL) == NULL);
	CHECK(pinfold_report_free(NULL) == NULL);
	CHECK(pinfold_run_free(NULL) == NULL);
	CHECK(pinfold_result_free(NULL) == NULL);
	pinfold_string_free(NULL);
}

/* Only the host and the run are needed while it runs. */
static void a_run_outlives_what_it_was_made_of(void)
{
	const size_t size = 3000000;
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("sleep 0.2; tr -d '\\000' | wc -c");
	pinfold_error *err = NULL;
	pinfold_result *result;
	pinfold_run *run;
	char *data = malloc(size);

	REQUIRE(data != NULL);
	memset(data, 'x', size);
	REQUIRE(pinfold_command_set_stdin(command, PINFOLD_STDIN_DATA, -1, data, size, &err) == 0);
	memset(data, 0, size);
	run = client_start(policy, command);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
	result = client_wait(run);
	(void)pinfold_run_free(run);
	CHECK(client_printed(result, 1, "3000000\n"), "%s", pinfold_result_json(result));
	free(data);
	(void)pinfold_result_free(result);
}

static void bytes_that_are_no_text(void)
{
	pinfold_result *result = client_run(NULL, client_shell("printf '\\377\\000\\001'; printf 'caf\\303\\251' >&2"));
	json_t *json = json_loads(pinfold_result_json(result), 0, NULL);
	json_t *out = json_object_get(json, "stdout");
	json_t *err = json_object_get(json, "stderr");
	size_t kept = 0;
	const unsigned char *data = pinfold_result_output(result, 1, &kept, NULL);

	CHECK(json != NULL);
	CHECK(json_is_string(json_object_get(out, "encoding")) &&
		strcmp(json_string_value(json_object_get(out, "encoding")), "base64") == 0);
	CHECK(json_is_string(json_object_get(out, "data")) &&
		strcmp(json_string_value(json_object_get(out, "data")), "/wAB") == 0);
	CHECK(json_is_string(json_object_get(err, "data")) &&
		strcmp(json_string_value(json_object_get(err, "data")), "caf\303\251") == 0);
	CHECK(kept == 3 && data[0] == 0xff && data[1] == 0 && data[2] == 1);
	CHECK(pinfold_result_output(result, 3, NULL, NULL) == NULL);
	json_decref(json);
	(void)pinfold_result_free(result);
}

static bool is_document(const char *text, const char *schema)
{
	json_t *json = text != NULL ? json_loads(text, 0, NULL) : NULL;
	const char *said = json_string_value(json_object_get(json, "schema"));
	bool right = said != NULL && strcmp(said, schema) == 0;

	json_decref(json);
	return right;
}

static void every_document_is_json(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_report *report = NULL;
	pinfold_result *result = client_run(NULL, client_shell("exit 1"));
	pinfold_policy *broken = NULL;
	pinfold_error *err = NULL;
	char *plan = NULL;

	REQUIRE(pinfold_check(client_host(), policy, command, &report, &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_plan_json(client_host(), policy, command, &plan, &err) == 0, "%s", client_reason(err));
	CHECK(is_document(pinfold_report_json(report), "pinfold.report/1"));
	CHECK(is_document(plan, "pinfold.plan/1"));
	CHECK(is_document(pinfold_result_json(result), "pinfold.result/1"));
	CHECK(is_document(pinfold_policy_json(policy, &err), "pinfold.policy/1"));
	CHECK(pinfold_report_verdict(report) != PINFOLD_UNENFORCEABLE, "%s", pinfold_report_text(report, 0));
	REQUIRE(pinfold_policy_parse("[", "test", NULL, &broken, &err) < 0);
	CHECK(is_document(pinfold_error_json(err), "pinfold.error/1"));
	CHECK(pinfold_error_exit_status(err) == 125);
	(void)pinfold_error_free(err);
	pinfold_string_free(plan);
	(void)pinfold_report_free(report);
	(void)pinfold_result_free(result);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

/* What check says of the mechanisms is what the run repeats. */
static void check_and_run_agree(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_report *report = NULL;
	pinfold_error *err = NULL;
	pinfold_run *run;
	pinfold_result *result;
	json_t *checked;
	json_t *ran;

	REQUIRE(pinfold_check(client_host(), policy, command, &report, &err) == 0, "%s", client_reason(err));
	run = client_start(policy, command);
	result = client_wait(run);
	checked = json_loads(pinfold_report_json(report), 0, NULL);
	ran = json_loads(pinfold_result_json(result), 0, NULL);
	CHECK(json_equal(checked, json_object_get(ran, "enforcement")), "%s", pinfold_result_json(result));
	json_decref(checked);
	json_decref(ran);
	(void)pinfold_run_free(run);
	(void)pinfold_result_free(result);
	(void)pinfold_report_free(report);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void the_environment_is_the_callers_choice(void)
{
	static const char *const variables[] = {"PATH=/bin", "LANG=C", "LANG=C.UTF-8", "SECRET=1", "TERM=", NULL};
	pinfold_command *command = client_shell("echo \"$LANG|${SECRET-none}|${TERM-none}|$PINFOLD\"");
	pinfold_error *err = NULL;
	pinfold_result *result;

	REQUIRE(pinfold_command_set_environment(command, variables, &err) == 0, "%s", client_reason(err));
	result = client_run(NULL, command);
	CHECK(client_printed(result, 1, "C.UTF-8|none||1\n"), "%s", pinfold_result_json(result));
	(void)pinfold_result_free(result);
}

int main(void)
{
	static const struct test tests[] = {
		{"commands are checked", commands_are_checked},
		{"workspaces and directories are checked", workspaces_are_checked},
		{"a result is given once", a_result_is_given_once},
		{"a run without a terminal has no size", a_run_without_a_terminal_has_no_size},
		{"NULL can be freed", nothing_can_be_freed},
		{"a run outlives its policy, its command and the data of its input", a_run_outlives_what_it_was_made_of},
		{"bytes that are no text come through", bytes_that_are_no_text},
		{"every document is JSON", every_document_is_json},
		{"check and run say the same", check_and_run_agree},
		{"the environment is what the caller gives", the_environment_is_the_callers_choice},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
