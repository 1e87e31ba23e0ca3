/*
 * pinfold materialize: a workspace from a manifest, all of it or nothing.
 *
 * A signal that would end the program makes the work end early instead, which takes back what was done; the program
 * then ends with 128+n, as a shell says of one that a signal ended. The library polls the descriptor by which signals
 * come and leaves them there, so that which one it was can be read here afterwards.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/request.h"
#include "runtime/cli/signals.h"

#define MANIFEST_BYTES_MAX ((size_t)16 << 20)
/* Those of the library, where only one of the two is said. */
#define FILES_MAX_DEFAULT 1000000
#define BYTES_MAX_DEFAULT ((uint64_t)16 << 30)

CLEANUP_DEFINE(pinfold_manifest, pinfold_manifest_free)

static int show_schema(const struct settings *settings)
{
	pinfold_error *error = NULL;
	char *json = NULL;
	int status;

	if (pinfold_manifest_schema(&json, &error) < 0)
		return cli_fail_take(settings, error);
	status = cli_print_document(settings, json);
	pinfold_string_free(json);
	return status;
}

/* "-": from standard input, with the current directory as base. */
static int load_stdin(const struct settings *settings, pinfold_manifest **ret_manifest)
{
	cleanup_buf struct buf text = {0};
	pinfold_error *error = NULL;
	struct error err;

	if (fd_read_all(STDIN_FILENO, MANIFEST_BYTES_MAX + 1, &text, &err) < 0)
		return cli_fail(settings, &err);
	if (pinfold_manifest_parse(buf_str(&text), text.size, "-", ret_manifest, &error) < 0)
		return cli_fail_take(settings, error);
	if (settings->base == NULL && pinfold_manifest_set_base(*ret_manifest, ".", &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

static int load(const struct settings *settings, pinfold_manifest **ret_manifest)
{
	pinfold_error *error = NULL;

	if (str_equal(settings->words[0], "-"))
		return load_stdin(settings, ret_manifest);
	if (pinfold_manifest_load(settings->words[0], ret_manifest, &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

static int grant_policy(const struct settings *settings, pinfold_manifest *manifest)
{
	cleanup_with(pinfold_policy_freep) pinfold_policy *policy = NULL;
	pinfold_error *error = NULL;
	int status;

	if (settings->policy_name == NULL && settings->policy_text == NULL)
		return CLI_DONE;
	status = cli_request_policy(settings, NULL, &policy);
	if (status == CLI_DONE && pinfold_manifest_grant_policy(manifest, policy, &error) < 0)
		status = cli_fail_take(settings, error);
	return status;
}

static int set_limits(const struct settings *settings, pinfold_manifest *manifest, pinfold_error **error)
{
	return pinfold_manifest_set_limits(manifest, settings->files_max != 0 ? settings->files_max : FILES_MAX_DEFAULT,
		settings->bytes_max != 0 ? settings->bytes_max : BYTES_MAX_DEFAULT, error);
}

/* Grants of flags come behind those of the policy, and so count for the same path. */
static int configure(const struct settings *settings, pinfold_manifest *manifest)
{
	pinfold_error *error = NULL;
	int status;

	if (settings->base != NULL && pinfold_manifest_set_base(manifest, settings->base, &error) < 0)
		return cli_fail_take(settings, error);
	status = grant_policy(settings, manifest);
	if (status != CLI_DONE)
		return status;
	for (size_t i = 0; i < settings->n_grants; i++)
		if (pinfold_manifest_grant(manifest, settings->grants[i], &error) < 0)
			return cli_fail_take(settings, error);
	if ((settings->files_max != 0 || settings->bytes_max != 0) && set_limits(settings, manifest, &error) < 0)
		return cli_fail_take(settings, error);
	if (settings->jobs != 0 && pinfold_manifest_set_jobs(manifest, settings->jobs, &error) < 0)
		return cli_fail_take(settings, error);
	return CLI_DONE;
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "-";
}

static void append_row(struct buf *out, const json_t *row)
{
	const json_t *bytes = json_object_get(row, "bytes");
	cleanup_buf struct buf path = {0};

	json_append_text(&path, text_of(row, "path")); /* no newline of a name breaks a line */
	buf_printf(out, "%-8s %s ", text_of(row, "action"), text_of(row, "mode"));
	if (json_is_integer(bytes))
		buf_printf(out, "%12lld ", (long long)json_integer_value(bytes));
	else
		buf_printf(out, "%12s ", "-");
	buf_append(out, buf_str(&path) + 1, path.size > 1 ? path.size - 2 : 0);
	buf_append_char(out, '\n');
}

/* What became of each entry, a line each; the whole story is the document. */
static int print_receipt(const struct settings *settings, const char *json)
{
	cleanup_json json_t *receipt = json_loads(json, 0, NULL);
	const json_t *entries = json_object_get(receipt, "entries");
	cleanup_buf struct buf out = {0};

	if (settings->json || receipt == NULL)
		return cli_print_document(settings, receipt != NULL ? json : NULL);
	for (size_t i = 0; !settings->quiet && i < json_array_size(entries); i++)
		append_row(&out, json_array_get(entries, i));
	return cli_print_buf(settings, &out);
}

/* A cancellation by a signal is told, and ends as the signal would have ended it. */
static int fail(const struct settings *settings, const struct signals *signals, pinfold_error *error)
{
	bool cancelled = str_equal(pinfold_error_code(error), error_code_name(ERROR_CANCELLED));
	int status = cli_fail_take(settings, error);
	int signo = cancelled ? cli_signals_next(signals) : 0;

	return signo != 0 ? 128 + signo : status;
}

static int make(const struct settings *settings, pinfold_host *host, pinfold_manifest *manifest)
{
	cleanup_signals struct signals signals = SIGNALS_INIT;
	unsigned flags = (settings->dry_run ? PINFOLD_MATERIALIZE_DRY_RUN : 0u) |
		(settings->ephemeral_only ? PINFOLD_MATERIALIZE_EPHEMERAL_ONLY : 0u);
	pinfold_error *error = NULL;
	struct progress progress;
	char *json = NULL;
	struct error err;
	int r;

	if (cli_signals_open(&signals, false, &err) < 0)
		return cli_fail(settings, &err);
	cli_progress_begin(&progress, settings);
	pinfold_manifest_set_cancel_fd(manifest, signals.fd);
	pinfold_manifest_on_progress(manifest, cli_progress_tell, &progress);
	r = pinfold_materialize(host, manifest, settings->words[1], flags, &json, &error);
	cli_progress_end(&progress);
	if (r < 0)
		return fail(settings, &signals, error);
	r = print_receipt(settings, json);
	pinfold_string_free(json);
	return r;
}

int cli_materialize(const struct settings *settings)
{
	cleanup_with(pinfold_manifest_freep) pinfold_manifest *manifest = NULL;
	cleanup_with(pinfold_host_freep) pinfold_host *host = NULL;
	pinfold_error *error = NULL;
	int status;

	if (settings->schema)
		return settings->n_words == 0 ? show_schema(settings) : cli_usage(settings, "--schema: takes no words");
	if (settings->n_words < 2)
		return cli_usage(settings, "which manifest, and where to? pinfold materialize [options] MANIFEST DEST");
	status = load(settings, &manifest);
	if (status == CLI_DONE)
		status = configure(settings, manifest);
	if (status != CLI_DONE)
		return status;
	if (pinfold_host_new(&host, &error) < 0)
		return cli_fail_take(settings, error);
	return make(settings, host, manifest);
}
