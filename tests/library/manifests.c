/* Workspaces from manifests, as an application builds them: it says what may be taken, and gets a receipt or an error. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/library/client.h"

static pinfold_manifest *parse(const char *text)
{
	pinfold_manifest *manifest = NULL;
	pinfold_error *err = NULL;

	REQUIRE(pinfold_manifest_parse(text, strlen(text), "m", &manifest, &err) == 0, "%s", client_reason(err));
	return manifest;
}

static const char *at(const char *name)
{
	static char path[4][500];
	static unsigned turn;
	char *one = path[turn++ % 4];

	(void)snprintf(one, sizeof path[0], "%s/%s", client_workspace(), name);
	return one;
}

static void put_file(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	REQUIRE(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "%s", name);
}

/* The workspace is empty again when the program ends. */
static void remove_all(const char *const *names)
{
	for (; *names != NULL; names++)
		CHECK(remove(at(*names)) == 0, "%s", *names);
}

static void count_told(void *userdata, uint64_t files, uint64_t bytes)
{
	uint64_t *told = userdata;

	told[0]++;
	told[1] = files;
	told[2] = bytes;
}

static void a_workspace_is_made(void)
{
	pinfold_manifest *manifest = parse(
		"{\"version\": 1, \"entries\": {\"a\": {\"type\": \"file\", \"content\": \"text\"},"
		"\"b\": {\"type\": \"local_file\", \"src\": \"source\"}}}");
	pinfold_error *err = NULL;
	uint64_t told[3] = {0};
	char *text = NULL;
	json_t *receipt;

	put_file("source", "data");
	REQUIRE(pinfold_manifest_set_base(manifest, client_workspace(), &err) == 0, "%s", client_reason(err));
	pinfold_manifest_on_progress(manifest, count_told, told);
	REQUIRE(pinfold_materialize(client_host(), manifest, at("made"), 0, &text, &err) == 0, "%s", client_reason(err));
	receipt = json_loads(text, 0, NULL);
	REQUIRE(receipt != NULL, "%.200s", text);
	CHECK(strcmp(json_string_value(json_object_get(receipt, "schema")), "pinfold.receipt/1") == 0);
	CHECK(json_array_size(json_object_get(receipt, "entries")) == 2);
	CHECK(json_integer_value(json_object_get(receipt, "bytes")) == 8);
	CHECK(told[0] >= 2 && told[1] == 2 && told[2] == 8, "%llu times, %llu files, %llu bytes",
		(unsigned long long)told[0], (unsigned long long)told[1], (unsigned long long)told[2]);
	json_decref(receipt);
	pinfold_string_free(text);
	pinfold_manifest_free(manifest);
	remove_all((const char *const[]){"made/a", "made/b", "made", "source", NULL});
}

static void what_is_refused_is_told(void)
{
	static const char text[] =
		"{\"version\": 1, \"entries\": {\"../x\": {\"type\": \"dir\"}, \"y\": {\"type\": \"dri\"}}}";
	pinfold_manifest *manifest = NULL;
	pinfold_error *err = NULL;
	char *json = NULL;

	REQUIRE(pinfold_manifest_parse(text, strlen(text), "m", &manifest, &err) < 0);
	CHECK(manifest == NULL && strcmp(pinfold_error_code(err), "invalid_manifest_path") == 0);
	CHECK(pinfold_error_exit_status(err) == 1);
	CHECK(pinfold_error_detail(err, 0) != NULL && pinfold_error_detail(err, 1) != NULL &&
		pinfold_error_detail(err, 2) == NULL);
	err = pinfold_error_free(err);
	/* Without a base directory nothing is a source. */
	manifest = parse("{\"version\": 1, \"entries\": {\"b\": {\"type\": \"local_file\", \"src\": \"source\"}}}");
	REQUIRE(pinfold_materialize(client_host(), manifest, at("refused"), 0, &json, &err) < 0);
	CHECK(strcmp(pinfold_error_code(err), "local_file_read_error") == 0 && json == NULL);
	CHECK(access(at("refused"), F_OK) < 0);
	err = pinfold_error_free(err);
	REQUIRE(pinfold_manifest_set_jobs(manifest, 0, &err) < 0);
	CHECK(pinfold_error_exit_status(err) == 2);
	err = pinfold_error_free(err);
	REQUIRE(pinfold_manifest_set_limits(manifest, 1, 0, &err) < 0);
	err = pinfold_error_free(err);
	REQUIRE(pinfold_manifest_grant(manifest, "/", &err) < 0);
	pinfold_error_free(err);
	pinfold_manifest_free(manifest);
}

static void a_descriptor_ends_it_early(void)
{
	pinfold_manifest *manifest = parse("{\"version\": 1, \"entries\": {\"a\": {\"type\": \"dir\"}}}");
	pinfold_error *err = NULL;
	int fd = eventfd(1, EFD_CLOEXEC), before = client_count_fds();
	char *json = NULL;

	pinfold_manifest_set_cancel_fd(manifest, fd);
	REQUIRE(pinfold_materialize(client_host(), manifest, at("early"), 0, &json, &err) < 0);
	CHECK(strcmp(pinfold_error_code(err), "cancelled") == 0);
	CHECK(access(at("early"), F_OK) < 0);
	CHECK(client_count_fds() == before);
	err = pinfold_error_free(err);
	pinfold_manifest_set_cancel_fd(manifest, -1);
	REQUIRE(pinfold_materialize(client_host(), manifest, at("early"), 0, &json, &err) == 0, "%s", client_reason(err));
	pinfold_string_free(json);
	pinfold_manifest_free(manifest);
	(void)close(fd);
	remove_all((const char *const[]){"early/a", "early", NULL});
}

/* From the manifest into a command, and nowhere else. */
static void values_reach_the_command(void)
{
	static const char *const allowed[] = {"env:CLIENT_SECRET", NULL};
	pinfold_manifest *manifest = parse(
		"{\"version\": 1, \"environment\": {\"CI\": \"1\", \"TOKEN\": {\"from\": \"env:CLIENT_SECRET\"}}}");
	pinfold_policy *policy = client_policy("{\"process\": {\"env\": {\"pass\": [\"TOKEN\", \"CI\"]}}}");
	pinfold_command *command = client_shell("printf %s-%s \"$CI\" \"$TOKEN\"");
	pinfold_error *err = NULL;
	char **environment = NULL;
	pinfold_result *result = NULL;
	pinfold_run *run = NULL;

	REQUIRE(setenv("CLIENT_SECRET", "hunter2", 1) == 0);
	REQUIRE(pinfold_manifest_environment(manifest, NULL, &environment, &err) < 0);
	CHECK(strcmp(pinfold_error_code(err), "permission_denied") == 0);
	CHECK(strstr(pinfold_error_message(err), "hunter2") == NULL);
	err = pinfold_error_free(err);
	REQUIRE(pinfold_manifest_environment(manifest, allowed, &environment, &err) == 0, "%s", client_reason(err));
	REQUIRE(pinfold_command_set_environment(command, (const char *const *)environment, &err) == 0, "%s",
		client_reason(err));
	pinfold_environment_free(environment);
	run = client_start(policy, command);
	result = client_wait(run);
	CHECK(client_printed(result, 1, "1-hunter2"), "%s", pinfold_result_json(result));
	pinfold_result_free(result);
	pinfold_run_free(run);
	pinfold_command_free(command);
	pinfold_policy_free(policy);
	pinfold_manifest_free(manifest);
}

static void the_schema_is_a_document(void)
{
	pinfold_error *err = NULL;
	char *text = NULL;
	json_t *schema;

	REQUIRE(pinfold_manifest_schema(&text, &err) == 0, "%s", client_reason(err));
	schema = json_loads(text, 0, NULL);
	CHECK(json_object_get(json_object_get(schema, "properties"), "entries") != NULL);
	json_decref(schema);
	pinfold_string_free(text);
}

static const struct test tests[] = {
	{"a workspace is made, and its progress told", a_workspace_is_made},
	{"what is refused is told, and nothing is left", what_is_refused_is_told},
	{"a descriptor ends it early", a_descriptor_ends_it_early},
	{"values reach the command", values_reach_the_command},
	{"the schema is a document", the_schema_is_a_document},
};

int main(void)
{
	return client_main(tests, sizeof tests / sizeof *tests);
}
