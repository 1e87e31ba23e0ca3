/*
 * The public wrap: a run as words for somebody else's exec. It plans as check does, and then says the same policy again
 * as words: its own part as text on top of the built-in, variables by their names, the workspace and the directory by
 * their resolved paths.
 *
 * Nothing is taken on trust: the words are read again here as `pinfold run` will read them, and where the policy they
 * make has another digest than the one that was planned, there is no document.
 */
#include "runtime/api/wrap.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/api/objects.h"
#include "runtime/policy/digest.h"

#define ORIGIN "wrap"

struct wrapping {
	struct arena *arena;
	const struct plan *plan;
	const struct policy *policy;
	struct policy_own own;
	const char **words;
	size_t n_words;
};

static void say(struct wrapping *wrapping, const char *word)
{
	const char **slot = arena_push(wrapping->arena, &wrapping->words, &wrapping->n_words);

	if (slot != NULL)
		*slot = arena_strdup(wrapping->arena, word);
}

static void say_option(struct wrapping *wrapping, const char *name, const char *value)
{
	say(wrapping, name);
	say(wrapping, value);
}

static void say_variables(struct wrapping *wrapping)
{
	const struct policy_own *own = &wrapping->own;

	if (own->pass_cleared)
		say(wrapping, "--clear-env");
	for (size_t i = 0; i < own->n_pass; i++)
		say_option(wrapping, "--env", own->pass[i]);
	for (size_t i = 0; i < own->n_set; i++) {
		const char *name = own->set[i].name;
		const char *carrier = wrap_carrier(wrapping->arena, name);

		if (str_equal(carrier, name))
			say_option(wrapping, "--env-set", name);
		else
			say_option(wrapping, "--env-set", arena_printf(wrapping->arena, "%s=%s", name, carrier));
	}
}

static void say_output(struct wrapping *wrapping)
{
	uint64_t limit = wrapping->policy->limits.output_bytes;
	char text[32] = "none";

	switch (wrapping->plan->output) {
	case PLAN_OUTPUT_CAPTURE: say(wrapping, "--capture"); return;
	case PLAN_OUTPUT_TTY: say(wrapping, "--tty"); return;
	case PLAN_OUTPUT_FD: return;
	case PLAN_OUTPUT_RELAY: break;
	}
	if (limit != LIMIT_NONE)
		(void)str_format_size(limit, text, sizeof text);
	say_option(wrapping, "--max-output", text);
}

static void say_all(struct wrapping *wrapping, const char *program, const char *const *options)
{
	const struct plan *plan = wrapping->plan;
	uint64_t kill_after_ms = plan->kill_after_ns / 1000000;

	say(wrapping, program);
	say(wrapping, "run");
	say_option(wrapping, "--policy-json", wrapping->own.text);
	say_variables(wrapping);
	say_option(wrapping, "--workspace", plan->workspace);
	say_option(wrapping, "--cd", plan->directory);
	say_output(wrapping);
	if (kill_after_ms > 0)
		say_option(wrapping, "--kill-after",
			arena_printf(wrapping->arena, "%llums", (unsigned long long)kill_after_ms));
	for (; options != NULL && *options != NULL; options++)
		say(wrapping, *options);
	say(wrapping, "--");
	for (char **word = plan->argv; *word != NULL; word++)
		say(wrapping, *word);
}

static int repeat_variables(const struct policy_own *own, struct policy_document *document, struct arena *arena,
	struct diag *diag, struct error *err)
{
	if (own->pass_cleared && policy_document_clear(document, "process.env.pass", ORIGIN, diag, err) < 0)
		return -1;
	for (size_t i = 0; i < own->n_pass; i++)
		if (policy_document_set(document, "process.env.pass", own->pass[i], ORIGIN, diag, err) < 0)
			return -1;
	for (size_t i = 0; i < own->n_set; i++) {
		const char *entry = arena_printf(arena, "%s=%s", own->set[i].name, own->set[i].value);

		if (entry == NULL)
			return error_no_memory(err);
		if (policy_document_set(document, "process.env.set", entry, ORIGIN, diag, err) < 0)
			return -1;
	}
	return 0;
}

/* That the words make the policy which was planned. */
static int check_digest(const struct wrapping *wrapping, struct error *err)
{
	cleanup_with(policy_document_freep) struct policy_document *document = NULL;
	const struct policy *again = NULL;
	cleanup_diag struct diag diag = {0};
	char planned[POLICY_DIGEST_SIZE], repeated[POLICY_DIGEST_SIZE];

	if (policy_document_parse(wrapping->own.text, "--policy-json", NULL, &document, &diag, err) < 0 ||
		repeat_variables(&wrapping->own, document, wrapping->arena, &diag, err) < 0 ||
		policy_document_resolve(document, &again, &diag, err) < 0)
		return error_prefix(err, "the policy as one text");
	if (policy_digest(&again->text, repeated, err) < 0 || policy_digest(&wrapping->policy->text, planned, err) < 0)
		return -1;
	if (!str_equal(repeated, planned))
		return error_set(err, ERROR_INTERNAL, "wrap", "the policy as one text is another policy: %s, not %s",
			repeated, planned);
	return 0;
}

static int words_json(const struct wrapping *wrapping, json_t **ret_json, struct error *err)
{
	cleanup_json json_t *list = json_array();
	char what[64];

	for (size_t i = 0; i < wrapping->n_words; i++) {
		(void)snprintf(what, sizeof what, "argument %zu", i);
		if (wrap_check_text(wrapping->words[i], what, err) < 0)
			return -1;
		if (json_array_append_new(list, json_text(wrapping->words[i])) < 0)
			return error_no_memory(err);
	}
	*ret_json = json_incref(list);
	return list == NULL ? error_no_memory(err) : 0;
}

/* As the kernel counts them: each text with its NUL and a pointer to it. The bound is that of this process; another has
 * the same unless its stack is limited to less. */
static int check_room(const json_t *argv, const json_t *env, struct error *err)
{
	long most = sysconf(_SC_ARG_MAX);
	size_t total = 2 * sizeof(char *);
	const json_t *text;
	const char *name;
	size_t i;

	json_array_foreach(argv, i, text) total += json_string_length(text) + 1 + sizeof(char *);
	json_object_foreach((json_t *)(uintptr_t)env, name, text)
		total += strlen(name) + json_string_length(text) + 2 + sizeof(char *);
	if (most <= 0 || total < (size_t)most)
		return 0;
	return error_set(err, ERROR_LIMIT, "wrap",
		"%zu bytes of arguments and environment are more than the %ld that a program can be given", total, most);
}

/* Where the host starts pinfold matters to nothing; it is the command's own place where the host has that too. */
static const char *start_directory(const struct plan *plan)
{
	struct stat st;

	if (stat(plan->directory, &st) == 0 && S_ISDIR(st.st_mode) && access(plan->directory, X_OK) == 0)
		return plan->directory;
	return plan->workspace;
}

static int make_document(const struct wrapping *wrapping, char *const *environment, char **ret_json, struct error *err)
{
	cleanup_json json_t *argv = NULL;
	cleanup_json json_t *env = NULL;
	cleanup_json json_t *enforcement = NULL;
	cleanup_json json_t *document = NULL;

	if (words_json(wrapping, &argv, err) < 0 ||
		wrap_environment(wrapping->policy, &wrapping->own, environment, wrapping->arena, &env, err) < 0 ||
		check_room(argv, env, err) < 0 || enforcement_json(&wrapping->plan->enforcement, &enforcement, err) < 0)
		return -1;
	document = json_pack("{s:s, s:O, s:O, s:o, s:O}", "schema", "pinfold.wrap/1", "argv", argv, "env", env, "cwd",
		json_text(start_directory(wrapping->plan)), "enforcement", enforcement);
	*ret_json = document != NULL ? json_to_string(document, 1) : NULL;
	return *ret_json != NULL ? 0 : error_no_memory(err);
}

static int check_program(const char *program, struct error *err)
{
	char shown[200];

	if (program != NULL && program[0] == '/')
		return 0;
	return error_set(err, ERROR_USAGE, "wrap", "the path of the pinfold to start is not absolute: \"%s\"",
		program != NULL ? str_printable(program, shown, sizeof shown) : "");
}

static int check_stdin(const struct command *command, struct error *err)
{
	if (command->stdin_mode != PLAN_STDIN_DATA)
		return 0;
	return error_set(
		err, ERROR_USAGE, "wrap", "the bytes of a standard input cannot be handed on; the host gives it");
}

static int wrap(struct wrapping *wrapping, const char *program, const char *const *options, char *const *environment,
	char **ret_json, struct error *err)
{
	char *json = NULL;

	say_all(wrapping, program, options);
	if (arena_check(wrapping->arena, err) < 0 || check_digest(wrapping, err) < 0 ||
		make_document(wrapping, environment, &json, err) < 0)
		return -1;
	*ret_json = json;
	return 0;
}

int pinfold_wrap(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, const char *program,
	const char *const *options, char **ret_json, pinfold_error **err)
{
	cleanup_with(plan_freep) struct plan *plan = NULL;
	cleanup_with(arena_freep) struct arena *arena = NULL;
	struct wrapping wrapping = {0};
	cleanup_diag struct diag diag = {0};
	struct error error = {0};

	if (check_program(program, &error) < 0 || check_stdin(&command->command, &error) < 0 ||
		arena_new(&arena, &error) < 0 || api_plan(host, policy, command, true, NULL, &plan, &diag, &error) < 0 ||
		policy_document_resolve(policy->document, &wrapping.policy, &diag, &error) < 0 ||
		plan_allows_run(plan, wrapping.policy, &error) < 0 ||
		policy_document_own(policy->document, arena, &wrapping.own, &error) < 0)
		return api_fail(err, "wrap", &error, &diag);
	wrapping.arena = arena;
	wrapping.plan = plan;
	if (wrap(&wrapping, program, options, command->command.environment, ret_json, &error) < 0)
		return api_fail(err, "wrap", &error, &diag);
	return 0;
}
