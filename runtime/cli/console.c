/*
 * The one place that writes to stdout and stderr. Nothing is buffered by stdio, so that what pinfold says keeps its
 * place among what the command says through the same descriptors.
 *
 * Threat: texts may hold what a confined command has chosen (a path it planted, the name of a process). On stderr every
 * control character is shown as \xNN, so that no line can be forged and no terminal be steered.
 *
 * A reader that has left (EPIPE) is none of pinfold's business: SIGPIPE is ignored, the rest is dropped, and the exit
 * status stays what it was. Any other failure to write a document is an error, for somebody is waiting for it.
 */
#include "runtime/cli/console.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Signals may be blocked here, to be read by the loop of a run. While a reader keeps us waiting they are let through,
 * or else a stalled reader would make pinfold unstoppable. */
static void wait_writable(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
	sigset_t none;

	if (poll(&pollfd, 1, 0) != 0)
		return;
	sigemptyset(&none);
	(void)ppoll(&pollfd, 1, NULL, &none);
}

int cli_write(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n;

		wait_writable(fd);
		n = write(fd, at, size < PIPE_BUF ? size : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

static int print(const struct settings *settings, const char *text, size_t size)
{
	char message[1024];
	struct error err;

	if (cli_write(STDOUT_FILENO, text, size) == 0 || errno == EPIPE)
		return CLI_DONE;
	error_set_errno(&err, ERROR_IO, errno, "write", "cannot write to standard output");
	cli_say("%s: %s", settings->verb->name, error_message(&err, message, sizeof message));
	return CLI_FAILED;
}

int cli_print(const struct settings *settings, const char *text)
{
	return print(settings, text, strlen(text));
}

static int no_memory(const struct settings *settings)
{
	cli_say("%s: out of memory (%s)", settings->verb->name, error_code_name(ERROR_NO_MEMORY));
	return CLI_FAILED;
}

int cli_print_buf(const struct settings *settings, const struct buf *text)
{
	return text->failed ? no_memory(settings) : print(settings, buf_str(text), text->size);
}

int cli_print_document(const struct settings *settings, const char *json)
{
	cleanup_buf struct buf text = {0};

	if (json == NULL)
		return no_memory(settings);
	buf_append_str(&text, json);
	if (text.size == 0 || text.data[text.size - 1] != '\n')
		buf_append_char(&text, '\n');
	return cli_print_buf(settings, &text);
}

int cli_print_json_take(const struct settings *settings, json_t *json)
{
	cleanup_json json_t *owned = json;
	cleanup_free char *text = owned != NULL ? json_to_string(owned, 1) : NULL;

	return cli_print_document(settings, text);
}

static bool is_control(const unsigned char *at)
{
	return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0);
}

static void append_safely(struct buf *buf, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
		if (is_control(at))
			buf_printf(buf, "\\x%02x", *at);
		else
			buf_append_char(buf, (char)*at);
	}
}

static void say_line(const char *text)
{
	cleanup_buf struct buf line = {0};

	buf_append_str(&line, "pinfold: ");
	append_safely(&line, text);
	buf_append_char(&line, '\n');
	/* Where even stderr fails there is nobody left to tell. */
	(void)cli_write(STDERR_FILENO, buf_str(&line), line.size);
}

void cli_say(const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	say_line(text != NULL ? text : "out of memory");
}

/* The message without the code, which error_message puts behind it in brackets. */
static void message_alone(const struct error *err, char *buf, size_t size)
{
	size_t tail = strlen(error_code_name(err->code)) + strlen(" ()");
	size_t length;

	error_message(err, buf, size);
	length = strlen(buf);
	if (length > tail && buf[length - 1] == ')')
		buf[length - tail] = '\0';
}

static json_t *error_document(const struct settings *settings, const struct error *err)
{
	char message[1024];

	message_alone(err, message, sizeof message);
	return json_pack("{s:s, s:s, s:s, s:o, s:{}, s:o}", "schema", "pinfold.error/1", "code",
		error_code_name(err->code), "op", settings->verb->name, "message", json_text(message), "context",
		"retryable", err->code == ERROR_USAGE ? json_false() : json_null());
}

int cli_fail(const struct settings *settings, const struct error *err)
{
	char message[1024];
	int status = err->code == ERROR_USAGE ? CLI_USAGE : CLI_FAILED;

	error_message(err, message, sizeof message);
	if (settings->verb->run != NULL)
		cli_say("%s: %s", settings->verb->name, message);
	else
		cli_say("%s", message);
	if (settings->json && cli_print_json_take(settings, error_document(settings, err)) != CLI_DONE)
		return CLI_FAILED;
	return status;
}

/* The message of an error with one detail usually is that detail: told once. */
static void tell_details(const pinfold_error *error)
{
	const char *message = pinfold_error_message(error);
	const char *detail;

	for (size_t i = 0; (detail = pinfold_error_detail(error, i)) != NULL; i++)
		if (strstr(message, detail) == NULL)
			cli_say("  %s", detail);
}

static int fail_take(const struct settings *settings, pinfold_error *error, int status)
{
	cli_say("%s: %s", settings->verb->name, pinfold_error_message(error));
	tell_details(error);
	if (settings->json && cli_print_document(settings, pinfold_error_json(error)) != CLI_DONE)
		status = CLI_FAILED;
	pinfold_error_free(error);
	return status;
}

int cli_fail_take(const struct settings *settings, pinfold_error *error)
{
	return fail_take(settings, error, pinfold_error_exit_status(error));
}

int cli_fail_usage_take(const struct settings *settings, pinfold_error *error)
{
	return fail_take(settings, error, CLI_USAGE);
}

static enum error_code code_of_errno(int sys_errno)
{
	if (sys_errno == ENOENT || sys_errno == ENOTDIR)
		return ERROR_NOT_FOUND;
	return sys_errno == EACCES || sys_errno == EPERM ? ERROR_PERMISSION_DENIED : ERROR_IO;
}

int cli_open_error(struct error *err, int sys_errno, const char *option, const char *what, const char *path)
{
	return error_set_errno(err, code_of_errno(sys_errno), sys_errno, option, "%s: cannot %s %s", option, what, path);
}

int cli_usage(const struct settings *settings, const char *fmt, ...)
{
	char text[400];
	struct error err;
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(text, sizeof text, fmt, args) < 0)
		text[0] = '\0';
	va_end(args);
	error_set(&err, ERROR_USAGE, "options", "%s", text);
	error_set_fix(&err, "see \"pinfold help %s\"", settings->verb->name);
	return cli_fail(settings, &err);
}
