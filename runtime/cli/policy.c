/*
 * pinfold policy: look at policies without running anything. `show` takes the policy flags of run and applies them, so
 * that what a command line really asks for can be seen, each value with its origin.
 */
#include "base/buf.h"
#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/request.h"

static int list_json(const struct settings *settings)
{
	cleanup_json json_t *list = json_array();
	const char *name;

	for (size_t i = 0; (name = pinfold_policy_builtin_name(i)) != NULL; i++)
		if (json_array_append_new(list,
			    json_pack("{s:s, s:s}", "name", name, "summary", pinfold_policy_builtin_summary(i))) < 0)
			return cli_print_document(settings, NULL);
	return cli_print_json_take(settings, json_pack("{s:s, s:O}", "schema", "pinfold.policies/1", "policies", list));
}

static int list(const struct settings *settings)
{
	cleanup_buf struct buf text = {0};
	const char *name;

	if (settings->json)
		return list_json(settings);
	for (size_t i = 0; (name = pinfold_policy_builtin_name(i)) != NULL; i++)
		buf_printf(&text, "%-18s %s\n", name, pinfold_policy_builtin_summary(i));
	return cli_print_buf(settings, &text);
}

static int show(const struct settings *settings)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	const char *name = settings->n_words > 1 ? settings->words[1] : NULL;
	pinfold_error *error = NULL;
	const char *text;
	int status;

	if (name != NULL && (settings->policy_name != NULL || settings->policy_text != NULL))
		return cli_usage(settings, "show: the policy is named twice");
	status = cli_request_policy(settings, name, &policy);
	if (status != CLI_DONE)
		return status;
	text = settings->json ? pinfold_policy_json(policy, &error) : pinfold_policy_text(policy, &error);
	if (text == NULL)
		return cli_fail_take(settings, error);
	return settings->json ? cli_print_document(settings, text) : cli_print(settings, text);
}

/* The i-th mistake that an error tells; NULL behind the last. An error without details is one mistake itself. */
static const char *mistake(const pinfold_error *error, size_t i)
{
	const char *detail = pinfold_error_detail(error, i);

	return detail == NULL && i == 0 ? pinfold_error_message(error) : detail;
}

/* error: NULL for a valid policy. */
static json_t *verdict(const char *name, const pinfold_error *error)
{
	cleanup_json json_t *mistakes = json_array();
	const char *text;

	for (size_t i = 0; error != NULL && (text = mistake(error, i)) != NULL; i++)
		if (json_array_append_new(mistakes, json_text(text)) < 0)
			return NULL;
	return json_pack("{s:s, s:o, s:b, s:O}", "schema", "pinfold.validation/1", "policy", json_text(name), "valid",
		error == NULL, "mistakes", mistakes);
}

static int print_mistakes(const struct settings *settings, const pinfold_error *error)
{
	cleanup_buf struct buf lines = {0};
	const char *text;

	for (size_t i = 0; (text = mistake(error, i)) != NULL; i++)
		buf_printf(&lines, "%s\n", text);
	return cli_print_buf(settings, &lines);
}

static int tell_invalid_take(const struct settings *settings, const char *name, pinfold_error *error)
{
	int status;

	if (!str_equal(pinfold_error_code(error), error_code_name(ERROR_POLICY_INVALID)))
		return cli_fail_take(settings, error);
	if (settings->json)
		status = cli_print_json_take(settings, verdict(name, error));
	else
		status = print_mistakes(settings, error);
	pinfold_error_free(error);
	return status == CLI_DONE ? CLI_NEGATIVE : status;
}

static int validate(const struct settings *settings)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	cleanup_buf struct buf text = {0};
	pinfold_error *error = NULL;
	const char *name;

	if (settings->n_words < 2)
		return cli_usage(settings, "validate: which policy?");
	name = settings->words[1];
	if (pinfold_policy_load(name, &policy, &error) < 0 || pinfold_policy_validate(policy, &error) < 0)
		return tell_invalid_take(settings, name, error);
	if (settings->json)
		return cli_print_json_take(settings, verdict(name, NULL));
	buf_printf(&text, "%s: valid\n", name);
	return cli_print_buf(settings, &text);
}

static int schema(const struct settings *settings)
{
	pinfold_error *error = NULL;
	char *json = NULL;
	int status;

	if (pinfold_policy_schema(&json, &error) < 0)
		return cli_fail_take(settings, error);
	status = cli_print_document(settings, json);
	pinfold_string_free(json);
	return status;
}

static const struct {
	const char *name;
	size_t words_max;
	bool takes_flags;
	int (*run)(const struct settings *settings);
} actions[] = {{"list", 1, false, list}, {"show", 2, true, show}, {"validate", 2, false, validate},
	{"schema", 1, false, schema}};

#define N_ACTIONS (sizeof actions / sizeof *actions)

static int unknown_action(const struct settings *settings, const char *word)
{
	const char *names[N_ACTIONS + 1] = {NULL};
	char shown[96];
	const char *nearest;

	for (size_t i = 0; i < N_ACTIONS; i++)
		names[i] = actions[i].name;
	nearest = str_nearest(word, names);
	str_printable(word, shown, sizeof shown);
	if (nearest != NULL)
		return cli_usage(settings, "unknown action \"%s\"; did you mean \"%s\"?", shown, nearest);
	return cli_usage(settings, "unknown action \"%s\"", shown);
}

static bool has_flags(const struct settings *settings)
{
	return settings->policy_name != NULL || settings->policy_text != NULL || settings->n_overrides > 0;
}

int cli_policy(const struct settings *settings)
{
	if (settings->n_words == 0)
		return cli_usage(settings, "no action given: list, show [P], validate P or schema");
	for (size_t i = 0; i < N_ACTIONS; i++) {
		if (!str_equal(actions[i].name, settings->words[0]))
			continue;
		if (settings->n_words > actions[i].words_max)
			return cli_usage(settings, "%s: too many words", actions[i].name);
		if (!actions[i].takes_flags && has_flags(settings))
			return cli_usage(settings, "%s: takes no policy options", actions[i].name);
		return actions[i].run(settings);
	}
	return unknown_action(settings, settings->words[0]);
}
