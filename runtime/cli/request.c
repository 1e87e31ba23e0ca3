/*
 * Turns what was said into the objects that check and run share, so that both ask for exactly the same thing.
 *
 * A flag whose value the policy refuses is a usage error (2), as for any other program; a policy file that is wrong is
 * a failure (125), since the command line was right. Out of memory is neither.
 */
#include "runtime/cli/request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/cli/console.h"

#define DEFAULT_POLICY ":read-only"

static int load_policy(const struct settings *settings, const char *name, pinfold_policy **ret_policy)
{
	pinfold_error *error = NULL;
	int rc;

	if (name == NULL && settings->policy_text != NULL) {
		rc = pinfold_policy_parse(settings->policy_text, "--policy-json", NULL, ret_policy, &error);
	} else {
		if (name == NULL)
			name = settings->policy_name != NULL ? settings->policy_name : DEFAULT_POLICY;
		rc = pinfold_policy_load(name, ret_policy, &error);
	}
	return rc < 0 ? cli_fail_take(settings, error) : CLI_DONE;
}

static bool is_users_mistake(const pinfold_error *error)
{
	const char *code = pinfold_error_code(error);

	return str_equal(code, error_code_name(ERROR_POLICY_INVALID)) || str_equal(code, error_code_name(ERROR_USAGE));
}

static int apply_override(const struct settings *settings, const struct override *override, pinfold_policy *policy)
{
	pinfold_error *error = NULL;
	int rc;

	if (override->value == NULL)
		rc = pinfold_policy_clear(policy, override->field, override->origin, &error);
	else
		rc = pinfold_policy_set(policy, override->field, override->value, override->origin, &error);
	if (rc == 0)
		return CLI_DONE;
	return is_users_mistake(error) ? cli_fail_usage_take(settings, error) : cli_fail_take(settings, error);
}

int cli_request_policy(const struct settings *settings, const char *name, pinfold_policy **ret_policy)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	int status = load_policy(settings, name, &policy);

	for (size_t i = 0; status == CLI_DONE && i < settings->n_overrides; i++)
		status = apply_override(settings, &settings->overrides[i], policy);
	if (status == CLI_DONE)
		*ret_policy = steal_ptr(&policy);
	return status;
}

/* -1 with error: the descriptor of --stdin FILE. A FIFO without a writer must wait as a shell would. */
static int open_stdin(const struct settings *settings, struct request *request)
{
	struct error err;

	request->stdin_fd = open(settings->stdin_from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (request->stdin_fd >= 0)
		return CLI_DONE;
	cli_open_error(&err, errno, "--stdin", "open", settings->stdin_from);
	return cli_fail(settings, &err);
}

/* Without --stdin: connected, unless output is kept, when nobody is there to type. */
static const char *stdin_source(const struct settings *settings)
{
	if (settings->stdin_from != NULL)
		return settings->stdin_from;
	return cli_settings_captures(settings) ? "none" : "-";
}

static int set_stdin(const struct settings *settings, bool starts, struct request *request)
{
	const char *source = stdin_source(settings);
	enum pinfold_stdin mode = str_equal(source, "none") ? PINFOLD_STDIN_NONE : PINFOLD_STDIN_FD;
	pinfold_error *error = NULL;
	int fd = STDIN_FILENO;
	int status;

	if (settings->verb->hands_on)
		return CLI_DONE;
	if (mode == PINFOLD_STDIN_FD && !str_equal(source, "-")) {
		if (!starts)
			return CLI_DONE;
		status = open_stdin(settings, request);
		if (status != CLI_DONE)
			return status;
		fd = request->stdin_fd;
	}
	if (pinfold_command_set_stdin(request->command, mode, fd, NULL, 0, &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

static enum pinfold_output output_mode(const struct settings *settings)
{
	if (settings->tty)
		return PINFOLD_OUTPUT_TTY;
	if (cli_settings_captures(settings))
		return PINFOLD_OUTPUT_CAPTURE;
	return settings->relay ? PINFOLD_OUTPUT_RELAY : PINFOLD_OUTPUT_FD;
}

static int set_output(const struct settings *settings, struct request *request)
{
	enum pinfold_output mode = output_mode(settings);
	bool connected = mode != PINFOLD_OUTPUT_CAPTURE;
	pinfold_error *error = NULL;

	if (pinfold_command_set_output(
		    request->command, mode, connected ? STDOUT_FILENO : -1, connected ? STDERR_FILENO : -1, &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

static int set_places(const struct settings *settings, struct request *request)
{
	pinfold_error *error = NULL;

	if (settings->workspace != NULL &&
		pinfold_command_set_workspace(request->command, settings->workspace, &error) < 0)
		return cli_fail_take(settings, error);
	if (settings->directory != NULL &&
		pinfold_command_set_directory(request->command, settings->directory, &error) < 0)
		return cli_fail_take(settings, error);
	if (pinfold_command_set_kill_after(request->command, settings->kill_after_ms, &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

int cli_request_words(const struct settings *settings, const char *const **ret_words)
{
	static const char *const shell[] = {"/bin/sh", "-c"};
	const char **words;
	struct error err;

	if (settings->shell_text == NULL) {
		if (settings->n_words == 0)
			return cli_usage(settings, "no command given: pinfold %s [options] -- CMD [ARG...]",
				settings->verb->name);
		if (settings->words[0][0] == '\0')
			return cli_usage(settings, "the name of the command is empty");
		*ret_words = (const char *const *)settings->words;
		return CLI_DONE;
	}
	words = arena_alloc(settings->arena, (settings->n_words + 4) * sizeof *words);
	if (words == NULL) {
		error_no_memory(&err);
		return cli_fail(settings, &err);
	}
	memcpy(words, shell, sizeof shell);
	words[2] = settings->shell_text;
	memcpy(words + 3, settings->words, settings->n_words * sizeof *words);
	*ret_words = words;
	return CLI_DONE;
}

int cli_request_make(const struct settings *settings, const char *const *words, bool starts, struct request *request)
{
	pinfold_error *error = NULL;
	int status = cli_request_policy(settings, NULL, &request->policy);

	if (status != CLI_DONE)
		return status;
	if (pinfold_command_new(words, &request->command, &error) < 0)
		return cli_fail_take(settings, error);
	status = set_places(settings, request);
	if (status == CLI_DONE)
		status = set_stdin(settings, starts, request);
	if (status == CLI_DONE)
		status = set_output(settings, request);
	if (status == CLI_DONE && pinfold_host_new(&request->host, &error) < 0)
		status = cli_fail_take(settings, error);
	return status;
}

void cli_request_done(struct request *request)
{
	cleanup_close_fd(&request->stdin_fd);
	request->command = pinfold_command_free(request->command);
	request->policy = pinfold_policy_free(request->policy);
	request->host = pinfold_host_free(request->host);
}
