/*
 * pinfold-archive: takes one hostile archive apart. It is started by pinfold inside a boundary that shows it the archive
 * read only, lets it write one new directory, and limits its memory, time and output; so that whoever takes this program
 * over by a fault in a decompressor holds that directory and nothing else. protocol.h says how it is spoken with.
 *
 * It is the only program of pinfold that is linked with libarchive. Only the words of its command line are trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/monotime.h"
#include "base/str.h"
#include "runtime/workspace/archive/pass.h"
#include "runtime/workspace/archive/protocol.h"
#include "runtime/workspace/archive/writing.h"

#define EXIT_REFUSED   1
#define PROGRESS_EVERY (100 * NS_PER_MS)
#define PROGRESS_SHARE \
	1000 /* of what has passed: so that no extraction is so long as to tell ARCHIVE_LINES_MAX lines */

/* Where nobody listens any more there is nothing left to do. */
static void say_take(json_t *json)
{
	cleanup_json json_t *owned = json;
	cleanup_free char *text = owned != NULL ? json_dumps(owned, JSON_COMPACT) : NULL;
	size_t size = text != NULL ? strlen(text) : 0;

	if (text == NULL)
		_exit(EXIT_FAILURE);
	text[size] = '\n'; /* in the place of the NUL */
	if (fd_write_all(STDOUT_FILENO, text, size + 1) < 0)
		_exit(EXIT_FAILURE);
}

static int say_error(const struct error *err)
{
	json_t *context = json_object();

	for (size_t i = 0; i < err->n_context; i++)
		(void)json_put(context, err->context[i].key, json_text(err->context[i].value));
	say_take(json_pack("{s:{s:s, s:o, s:i, s:o}}", "error", "code", error_code_name(err->code), "text",
		json_text(err->text), "errno", err->sys_errno, "context", context));
	return EXIT_REFUSED;
}

static void say_progress(uint64_t members, uint64_t bytes)
{
	static uint64_t begin_ns, next_ns; /* of the one pass that this process makes with a writer */
	uint64_t now = monotime_ns(), share;

	if (now < next_ns)
		return;
	if (begin_ns == 0)
		begin_ns = now;
	share = (now - begin_ns) / PROGRESS_SHARE;
	next_ns = now + (share > PROGRESS_EVERY ? share : PROGRESS_EVERY);
	say_take(json_pack("{s:o, s:o}", "progress", json_u64(members), "bytes", json_u64(bytes)));
}

static int say_done(const struct pass_totals *totals)
{
	say_take(json_pack("{s:{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}}", "done", "format", totals->format,
		"compression", totals->compression, "members", json_u64(totals->members), "files",
		json_u64(totals->files), "directories", json_u64(totals->directories), "links", json_u64(totals->links),
		"bytes", json_u64(totals->bytes), "skipped", json_u64(totals->skipped)));
	return EXIT_SUCCESS;
}

static int read_word(const char *word, struct pass_limits *limits, struct error *err)
{
	uint64_t strip = limits->strip, links = limits->links, portable = limits->portable;
	const struct {
		const char *name;
		uint64_t *value, max;
	} known[] = {
		{ARCHIVE_WORD_EXTRACTED "=", &limits->extracted_max, UINT64_MAX},
		{ARCHIVE_WORD_MEMBERS "=", &limits->members_max, UINT64_MAX},
		{ARCHIVE_WORD_RATIO "=", &limits->ratio_max, UINT64_MAX},
		{ARCHIVE_WORD_STRIP "=", &strip, MEMBER_DEPTH_MAX},
		{ARCHIVE_WORD_LINKS "=", &links, 1},
		{ARCHIVE_WORD_PORTABLE "=", &portable, 1},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (!str_starts_with(word, known[i].name))
			continue;
		if (str_parse_u64(word + strlen(known[i].name), 0, known[i].max, known[i].value, err) < 0)
			return -1;
		limits->strip = (unsigned)strip;
		limits->links = links != 0;
		limits->portable = portable != 0;
		return 0;
	}
	return error_set(err, ERROR_USAGE, "arguments", "%.100s: what is that?", word);
}

static int introduce(int fd, struct error *err)
{
	say_take(json_pack("{s:s}", ARCHIVE_PROGRAM, PINFOLD_VERSION));
	if (fd < 0)
		return error_set_errno(err, ERROR_IO, errno, ARCHIVE_INPUT_PLACE, "cannot open the archive");
	return 0;
}

static int extract(int fd, const struct pass_limits *limits, struct pass_totals *ret_totals, struct error *err)
{
	cleanup_writing struct writing writing = {.file_fd = -1};
	struct pass_totals judged;
	struct pass_sink sink;

	if (pass_run(fd, limits, NULL, &judged, err) < 0)
		return -1;
	if (writing_init(&writing, AT_FDCWD, say_progress, err) < 0)
		return -1;
	sink = writing_sink(&writing);
	if (pass_run(fd, limits, &sink, ret_totals, err) < 0)
		return -1;
	if (memcmp(judged.digest, ret_totals->digest, sizeof judged.digest) != 0)
		return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive", "it changed while it was read");
	return writing_finish(&writing, err);
}

int main(int argc, char **argv)
{
	struct pass_limits limits = {.extracted_max = 0, .members_max = 0, .ratio_max = 1};
	cleanup_close int fd = open(ARCHIVE_INPUT_PLACE, O_RDONLY | O_CLOEXEC);
	struct pass_totals totals;
	struct error err;

	/* Fallback: without this locale names in UTF-8 that are marked so cannot be had, and are refused. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (introduce(fd, &err) < 0)
		return say_error(&err);
	for (int i = 1; i < argc; i++)
		if (read_word(argv[i], &limits, &err) < 0)
			return say_error(&err);
	if (extract(fd, &limits, &totals, &err) < 0)
		return say_error(&err);
	return say_done(&totals);
}
