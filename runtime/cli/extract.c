/*
 * pinfold extract: an archive and a directory. A signal that ends programs makes the descriptor of the signals
 * readable, and the extraction looks at that: it puts everything back and says that it was cancelled.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/request.h"
#include "runtime/cli/signals.h"

CLEANUP_DEFINE(pinfold_extraction, pinfold_extraction_free)

/* O_NONBLOCK: a FIFO without a writer must not keep us; it is waited for where signals are heard. */
static int open_archive(const char *path, struct error *err)
{
	int fd = str_equal(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? cli_open_error(err, errno, "archive", "open", path) : fd;
}

static int make(const struct settings *settings, int fd, pinfold_extraction **ret_extraction)
{
	cleanup_with(pinfold_extraction_freep) pinfold_extraction *extraction = NULL;
	pinfold_error *error = NULL;

	if (pinfold_extraction_new(fd, settings->words[0], &extraction, &error) < 0)
		return cli_fail_take(settings, error);
	for (size_t i = 0; i < settings->n_overrides; i++) {
		const struct override *override = &settings->overrides[i];

		if (pinfold_extraction_set(extraction, override->field, override->value, override->origin, &error) < 0)
			return cli_fail_take(settings, error);
	}
	*ret_extraction = steal_ptr(&extraction);
	return CLI_DONE;
}

/* The status of a program that a signal has ended, where one has ended this. */
static int fail(const struct settings *settings, const struct signals *signals, pinfold_error *error)
{
	bool cancelled = str_equal(pinfold_error_code(error), error_code_name(ERROR_CANCELLED));
	int signo = cancelled ? cli_signals_next(signals) : 0;
	int status = cli_fail_take(settings, error);

	return signo > 0 ? 128 + signo : status;
}

static int tell(const struct settings *settings, char *json)
{
	int status = settings->json ? cli_print_document(settings, json) : CLI_DONE;

	pinfold_string_free(json);
	return status;
}

static int extract(const struct settings *settings, pinfold_extraction *extraction)
{
	cleanup_with(pinfold_host_freep) pinfold_host *host = NULL;
	cleanup_signals struct signals signals = SIGNALS_INIT;
	struct progress progress;
	pinfold_error *error = NULL;
	struct error err;
	char *json = NULL;
	int r;

	if (pinfold_host_new(&host, &error) < 0)
		return cli_fail_take(settings, error);
	if (cli_signals_open(&signals, false, &err) < 0)
		return cli_fail(settings, &err);
	cli_progress_begin(&progress, settings);
	pinfold_extraction_set_cancel_fd(extraction, signals.fd);
	pinfold_extraction_on_progress(extraction, cli_progress_tell, &progress);
	r = pinfold_extract(host, extraction, settings->words[1], &json, &error);
	cli_progress_end(&progress);
	return r < 0 ? fail(settings, &signals, error) : tell(settings, json);
}

int cli_extract(const struct settings *settings)
{
	cleanup_with(pinfold_extraction_freep) pinfold_extraction *extraction = NULL;
	cleanup_close int fd = -1;
	struct error err;
	int status;

	if (settings->n_words < 2)
		return cli_usage(settings, "an archive and a destination are needed");
	fd = open_archive(settings->words[0], &err);
	if (fd < 0)
		return cli_fail(settings, &err);
	status = make(settings, fd, &extraction);
	return status != CLI_DONE ? status : extract(settings, extraction);
}
