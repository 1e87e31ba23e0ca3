/*
 * pinfold run: start the command inside its boundary, watch it to its end, tell how it ended.
 *
 * Everything that can fail because of the command line or of this machine's files is opened before the launch. Then one
 * loop waits for three things: the run itself, signals, and the reader of the events. It ends when the run says that
 * the whole tree is dead; only then is the result told, and with it the exit status.
 *
 * Each resource belongs to struct live, whose cleanup undoes whatever was done, in the opposite order: a path that
 * leaves early kills the tree, gives the terminal back, and lets signals through again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/str.h"
#include "runtime/cli/captured.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/delivery.h"
#include "runtime/cli/events.h"
#include "runtime/cli/notes.h"
#include "runtime/cli/request.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trace.h"

struct live {
	const struct settings *settings;
	struct delivery delivery;
	struct events events;
	struct signals signals;
	struct terminal terminal;
	pinfold_run *run;
	int cancelled_by; /* the first signal; 0: none */
};
#define LIVE_INIT(s)                                                                                       \
	{                                                                                                  \
		.settings = (s), .delivery = DELIVERY_INIT, .events = EVENTS_INIT, .signals = SIGNALS_INIT \
	}
#define cleanup_live __attribute__((cleanup(live_done)))

static void live_done(struct live *live)
{
	live->run = pinfold_run_free(live->run);
	cli_terminal_restore(&live->terminal);
	cli_signals_close(&live->signals);
	cli_events_done(&live->events);
	cli_delivery_done(&live->delivery);
}

/* A result that cannot be told where it was wanted is a failure, but no second document. */
static int could_not_tell(const struct error *err)
{
	char message[1024];

	cli_say("run: %s", error_message(err, message, sizeof message));
	return CLI_FAILED;
}

/* Whoever looks into the result file must not find there what an earlier run left. */
static int refuse(struct live *live, pinfold_error *error)
{
	const char *json = pinfold_error_json(error);
	struct error err;

	if (json != NULL && cli_deliver(&live->delivery, json, &err) < 0)
		(void)could_not_tell(&err);
	return cli_fail_take(live->settings, error);
}

/* With -v the whole report was told already. */
static void tell_warnings(const struct live *live)
{
	const char *warning;

	if (live->settings->quiet || live->settings->verbose)
		return;
	for (size_t i = 0; (warning = pinfold_run_warning(live->run, i)) != NULL; i++)
		cli_say("warning: %s", warning);
}

static int start(struct live *live, const struct request *request)
{
	const struct settings *settings = live->settings;
	pinfold_error *error = NULL;
	struct error err;

	if (cli_delivery_open(&live->delivery, settings, &err) < 0 || cli_events_open(&live->events, settings, &err) < 0 ||
		cli_signals_open(&live->signals, settings->tty, &err) < 0)
		return cli_fail(settings, &err);
	if (pinfold_run_start(request->host, request->policy, request->command, &live->run, &error) < 0)
		return refuse(live, error);
	tell_warnings(live);
	if (live->events.fd >= 0)
		pinfold_run_on_event(live->run, cli_events_add, &live->events);
	return CLI_DONE;
}

static int resize(const struct live *live)
{
	pinfold_error *error = NULL;
	unsigned rows, columns;

	if (!cli_terminal_size(&rows, &columns))
		return CLI_DONE;
	if (pinfold_run_resize(live->run, rows, columns, &error) < 0)
		return cli_fail_take(live->settings, error);
	return CLI_DONE;
}

static int take_terminal(struct live *live)
{
	struct error err;

	if (!live->settings->tty)
		return CLI_DONE;
	if (cli_terminal_raw(&live->terminal, &err) < 0)
		return cli_fail(live->settings, &err);
	return resize(live);
}

/* Stopped by somebody else than the keyboard, whose ^Z is a byte in raw mode. */
static int stop(struct live *live)
{
	cli_terminal_restore(&live->terminal);
	(void)raise(SIGSTOP);
	return take_terminal(live);
}

static int act_on_signal(struct live *live, int signo)
{
	if (cli_signal_cancels(signo)) {
		if (live->cancelled_by == 0)
			live->cancelled_by = signo;
		pinfold_run_cancel(live->run);
		return CLI_DONE;
	}
	return signo == SIGTSTP ? stop(live) : resize(live);
}

static int act_on_signals(struct live *live)
{
	int signo, status = CLI_DONE;

	while (status == CLI_DONE && (signo = cli_signals_next(&live->signals)) != 0)
		status = act_on_signal(live, signo);
	return status;
}

static int fail_errno(const struct settings *settings, const char *where, const char *text)
{
	struct error err;

	error_set_errno(&err, ERROR_INTERNAL, errno, where, "%s", text);
	return cli_fail(settings, &err);
}

/* Until the run is over. */
static int watch(struct live *live)
{
	pinfold_error *error = NULL;
	int over = 0, status = CLI_DONE;

	while (over == 0 && status == CLI_DONE) {
		struct pollfd wanted[] = {
			{.fd = pinfold_run_fd(live->run), .events = POLLIN},
			{.fd = live->signals.fd, .events = POLLIN},
			cli_events_poll(&live->events),
		};

		if (poll(wanted, sizeof wanted / sizeof *wanted, -1) < 0 && errno != EINTR)
			return fail_errno(live->settings, "poll", "cannot wait for the run");
		status = act_on_signals(live);
		if (status == CLI_DONE)
			over = pinfold_run_dispatch(live->run, &error);
		cli_events_pump(&live->events);
	}
	return over < 0 ? cli_fail_take(live->settings, error) : status;
}

/* The status of a cancelled run is that of a program which the signal ended; the library knows of no signal. */
static int exit_status(const struct live *live, const pinfold_result *result)
{
	if (live->cancelled_by != 0 && pinfold_result_status(result) == PINFOLD_CANCELLED)
		return 128 + live->cancelled_by;
	return pinfold_result_exit_status(result);
}

static void tell_notes(const struct live *live, const pinfold_result *result)
{
	const char *note = pinfold_result_note(result);

	if (live->settings->quiet)
		return;
	if (note != NULL)
		cli_say("%s", note);
	if (live->events.lost != NULL)
		cli_say("note: some events are lost: %s", live->events.lost);
}

static int tell(struct live *live, pinfold_result *result)
{
	const struct settings *settings = live->settings;
	bool wanted = settings->json || cli_delivery_is_wished(&live->delivery);
	const char *json = wanted ? pinfold_result_json(result) : NULL;
	int status = exit_status(live, result);
	struct error err;

	cli_events_finish(&live->events);
	if (wanted && json == NULL)
		return cli_print_document(settings, NULL);
	if (settings->json && cli_print_document(settings, json) != CLI_DONE)
		status = CLI_FAILED;
	if (settings->capture && !settings->json && cli_captured_print(result, &err) < 0)
		status = could_not_tell(&err);
	tell_notes(live, result);
	if (json != NULL && cli_deliver(&live->delivery, json, &err) < 0)
		status = could_not_tell(&err);
	if (settings->trace_setup)
		cli_trace_tell(live->run, settings->begin_ns);
	return status;
}

static int run_to_end(const struct settings *settings, const struct request *request)
{
	cleanup_with(pinfold_result_freep) pinfold_result *result = NULL;
	cleanup_live struct live live = LIVE_INIT(settings);
	pinfold_error *error = NULL;
	int status = start(&live, request);

	if (status == CLI_DONE)
		status = take_terminal(&live);
	if (status == CLI_DONE)
		status = watch(&live);
	if (status != CLI_DONE)
		return status;
	if (pinfold_run_wait(live.run, &result, &error) < 0)
		return cli_fail_take(settings, error);
	cli_terminal_restore(&live.terminal);
	return tell(&live, result);
}

static int print_plan(const struct settings *settings, const struct request *request)
{
	pinfold_error *error = NULL;
	char *json = NULL;
	int status;

	if (pinfold_plan_json(request->host, request->policy, request->command, &json, &error) < 0)
		return cli_fail_take(settings, error);
	status = cli_print_document(settings, json);
	pinfold_string_free(json);
	return status;
}

static int tell_report(const struct settings *settings, const struct request *request)
{
	cleanup_with(pinfold_report_freep) pinfold_report *report = NULL;
	pinfold_error *error = NULL;
	struct error err;

	if (pinfold_check(request->host, request->policy, request->command, &report, &error) < 0)
		return cli_fail_take(settings, error);
	return cli_notes_tell(report, &err) < 0 ? cli_fail(settings, &err) : CLI_DONE;
}

int cli_run(const struct settings *settings)
{
	cleanup_request struct request request = REQUEST_INIT;
	const char *const *words = NULL;
	int status = cli_request_words(settings, &words);

	if (status == CLI_DONE)
		status = cli_request_make(settings, words, !settings->dry_run, &request);
	if (status == CLI_DONE && settings->trace_setup)
		pinfold_command_trace_setup(request.command);
	if (status == CLI_DONE && settings->dry_run)
		return print_plan(settings, &request);
	if (status == CLI_DONE && settings->verbose)
		status = tell_report(settings, &request);
	return status == CLI_DONE ? run_to_end(settings, &request) : status;
}
