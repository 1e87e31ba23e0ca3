/*
 * `run --capture` without --json: when all is over, the kept bytes of each stream go where they would have gone. Kept
 * are a head and a tail; the place of the cut is in the result document, which is the authority on it.
 */
#include "runtime/cli/captured.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "runtime/cli/console.h"

struct cut {
	size_t at;
	json_int_t bytes;
};

/* A stream that is whole has no cut: bytes is 0. */
static int find_cut(json_t *document, const char *stream, size_t kept, struct cut *ret_cut, struct error *err)
{
	json_t *object = json_object_get(document, stream);
	json_int_t bytes, at;

	if (!json_is_integer(json_object_get(object, "omitted_bytes")))
		return error_set(err, ERROR_INTERNAL, "result", "the result does not tell what was left out");
	bytes = json_integer_value(json_object_get(object, "omitted_bytes"));
	at = json_integer_value(json_object_get(object, "omitted_at"));
	if (bytes < 0 || at < 0 || (size_t)at > kept)
		return error_set(err, ERROR_INTERNAL, "result", "the result tells an impossible cut");
	*ret_cut = (struct cut){(size_t)at, bytes};
	return 0;
}

/* The marker has a line of its own, also where the cut is in the middle of one. */
static void append_marker(struct buf *text, json_int_t bytes)
{
	if (text->size > 0 && text->data[text->size - 1] != '\n')
		buf_append_char(text, '\n');
	buf_printf(text, "[... %lld bytes omitted ...]\n", (long long)bytes);
}

static int print_stream(pinfold_result *result, json_t *document, int stream, const char *name, int fd, struct error *err)
{
	cleanup_buf struct buf text = {0};
	size_t kept = 0;
	uint64_t total = 0;
	const char *data = pinfold_result_output(result, stream, &kept, &total);
	struct cut cut = {0};

	if (find_cut(document, name, kept, &cut, err) < 0)
		return -1;
	if (cut.bytes > 0) {
		buf_append(&text, data, cut.at);
		append_marker(&text, cut.bytes);
		buf_append(&text, data + cut.at, kept - cut.at);
	} else {
		buf_append(&text, data, kept);
	}
	if (buf_check(&text, err) < 0)
		return -1;
	if (cli_write(fd, buf_str(&text), text.size) < 0 && errno != EPIPE)
		return error_set_errno(err, ERROR_IO, errno, "write", "cannot write the captured %s", name);
	return 0;
}

int cli_captured_print(pinfold_result *result, struct error *err)
{
	const char *json = pinfold_result_json(result);
	cleanup_json json_t *document = json != NULL ? json_loads(json, 0, NULL) : NULL;

	if (document == NULL)
		return error_set(err, ERROR_INTERNAL, "result", "the result cannot be read");
	if (print_stream(result, document, 1, "stdout", STDOUT_FILENO, err) < 0)
		return -1;
	return print_stream(result, document, 2, "stderr", STDERR_FILENO, err);
}
