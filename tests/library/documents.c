/* Documents that a client gets as strings of its own: the schema of policies, and a run as words for somebody else. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/library/client.h"

#define PROGRAM "/usr/bin/pinfold"

static json_t *parse(char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	REQUIRE(json != NULL, "no JSON: %.200s", text);
	pinfold_string_free(text);
	return json;
}

static void the_schema_is_a_document(void)
{
	pinfold_error *err = NULL;
	char *text = NULL;
	json_t *schema;

	REQUIRE(pinfold_policy_schema(&text, &err) == 0, "%s", client_reason(err));
	schema = parse(text);
	CHECK(json_object_get(json_object_get(schema, "properties"), "limits") != NULL);
	json_decref(schema);
}

static bool has_word(const json_t *document, const char *word)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(document, "argv"), i, one)
	{
		if (strcmp(json_string_value(one), word) == 0)
			return true;
	}
	return false;
}

static const char *variable(const json_t *document, const char *name)
{
	return json_string_value(json_object_get(json_object_get(document, "env"), name));
}

/* The environment is the command's, not that of the process. */
static void a_run_becomes_words(void)
{
	static const char *const environment[] = {"HOME=/nowhere", "LANG=C", "OTHER=x", NULL};
	static const char *const options[] = {"--result-fd", "9", NULL};
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_error *err = NULL;
	char *text = NULL;
	json_t *document;

	REQUIRE(pinfold_command_set_environment(command, environment, &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_policy_set(policy, "process.env.set", "TOKEN=hush", "test", &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_wrap(client_host(), policy, command, PROGRAM, options, &text, &err) == 0, "%s",
		client_reason(err));
	CHECK(strstr(text, "hush") != NULL && strstr(strstr(text, "hush") + 1, "hush") == NULL, "more than once");
	document = parse(text);
	CHECK(has_word(document, PROGRAM) && has_word(document, "--result-fd") && has_word(document, "--capture"));
	CHECK(strcmp(variable(document, "TOKEN"), "hush") == 0 && strcmp(variable(document, "HOME"), "/nowhere") == 0);
	CHECK(variable(document, "LANG") != NULL && variable(document, "OTHER") == NULL);
	json_decref(document);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void refuses(pinfold_policy *policy, pinfold_command *command, const char *program, const char *code)
{
	pinfold_error *err = NULL;
	char *text = NULL;

	CHECK(pinfold_wrap(client_host(), policy, command, program, NULL, &text, &err) < 0, "%s", code);
	CHECK(err != NULL && strcmp(pinfold_error_code(err), code) == 0, "%s", client_reason(err));
	CHECK(text == NULL, "written to on failure");
	err = pinfold_error_free(err);
}

static void what_words_cannot_say_is_refused(void)
{
	pinfold_policy *policy = client_default_policy();
	pinfold_command *command = client_shell("true");
	pinfold_error *err = NULL;

	refuses(policy, command, "pinfold", "usage");
	refuses(policy, command, NULL, "usage");
	REQUIRE(pinfold_command_set_stdin(command, PINFOLD_STDIN_DATA, -1, "x", 1, &err) == 0, "%s", client_reason(err));
	refuses(policy, command, PROGRAM, "usage");
	REQUIRE(pinfold_command_set_stdin(command, PINFOLD_STDIN_NONE, -1, NULL, 0, &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_policy_clear(policy, "filesystem.read", "test", &err) == 0, "%s", client_reason(err));
	refuses(policy, command, PROGRAM, "unsupported");
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

/* A policy that asks for what it turns off itself. */
static void what_cannot_be_enforced_is_refused(void)
{
	pinfold_policy *policy = client_policy("{\"network\": {\"mode\": \"host\"}, \"require\": [\"network\"]}");
	pinfold_command *command = client_shell("true");

	refuses(policy, command, PROGRAM, "unenforceable");
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

int main(void)
{
	static const struct test tests[] = {
		{"the schema of policies is a document", the_schema_is_a_document},
		{"a run becomes words", a_run_becomes_words},
		{"what words cannot say is refused", what_words_cannot_say_is_refused},
		{"what cannot be enforced is refused", what_cannot_be_enforced_is_refused},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
