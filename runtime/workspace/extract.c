/*
 * The steps of an extraction: a private copy of the archive; pinfold-archive in its boundary, which judges all of it
 * and then writes a new directory that has no name yet; a look at what it wrote; and a rename, or a merge.
 *
 * Threat: everything the archive says, and with it everything that its reader does. The boundary keeps the reader to
 * the new directory and to its limits; here nothing of it is believed (extract_talk.c, extract_check.c).
 *
 * What the disk may have to hold beside the archive's copy is max_extracted. A reader that was taken over can have more
 * there only for the moment until somebody looks (quota.c), and what it wrote is removed.
 */
#include "runtime/workspace/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "runtime/workspace/archive/protocol.h"
#include "runtime/workspace/archive/rules.h"
#include "runtime/workspace/extract_parts.h"
#include "runtime/workspace/quota.h"

#define WHAT "the archive's reader"
/* Of the helper: what decompressors need for their largest usual windows, and what a name costs. */
#define MEMORY_BASE     ((uint64_t)384 << 20)
#define MEMORY_A_MEMBER 512u
#define MEMORY_MOST     ((uint64_t)4 << 30)
#define WORD_SIZE       64
#define N_WORDS         6

struct words {
	char text[N_WORDS][WORD_SIZE];
	const char *argv[N_WORDS + 2];
};

static void fill_words(struct words *words, const struct extract_options *options)
{
	const struct {
		const char *name;
		uint64_t value;
	} said[N_WORDS] = {
		{ARCHIVE_WORD_EXTRACTED, options->extracted_max},
		{ARCHIVE_WORD_MEMBERS, options->members_max},
		{ARCHIVE_WORD_RATIO, options->ratio_max},
		{ARCHIVE_WORD_STRIP, options->strip_components},
		{ARCHIVE_WORD_LINKS, options->links_inside},
		{ARCHIVE_WORD_PORTABLE, options->portable},
	};

	words->argv[0] = ARCHIVE_PROGRAM_PLACE;
	for (size_t i = 0; i < N_WORDS; i++) {
		(void)snprintf(words->text[i], WORD_SIZE, "%s=%llu", said[i].name, (unsigned long long)said[i].value);
		words->argv[i + 1] = words->text[i];
	}
	words->argv[N_WORDS + 1] = NULL;
}

struct limits {
	char memory[32], time[32], file[32];
};

static void fill_limits(struct limits *limits, const struct extract_options *options)
{
	uint64_t members = options->members_max < UINT32_MAX ? options->members_max : UINT32_MAX;
	uint64_t memory = MEMORY_BASE + members * MEMORY_A_MEMBER;
	bool any_time = options->timeout_ns == EXTRACT_NO_LIMIT, any_size = options->extracted_max > INT64_MAX;

	(void)snprintf(limits->memory, sizeof limits->memory, "%llu",
		(unsigned long long)(memory < MEMORY_MOST ? memory : MEMORY_MOST));
	(void)snprintf(limits->time, sizeof limits->time, "none");
	if (!any_time)
		(void)str_format_time(options->timeout_ns, limits->time, sizeof limits->time);
	(void)snprintf(limits->file, sizeof limits->file, "none");
	if (!any_size)
		(void)snprintf(limits->file, sizeof limits->file, "%llu", (unsigned long long)options->extracted_max);
}

static int refuse_end(struct error *err, const char *limit, const char *most, const char *what)
{
	(void)error_set(err, ERROR_LIMIT, "archive", "%s %s (%s)", what, most, limit);
	error_add_context(err, "limit", limit);
	error_add_context(err, "most", most);
	return -1;
}

static int refuse_memory(struct error *err, const struct limits *limits)
{
	return refuse_end(err, "memory", limits->memory, "its reader needs more memory, in bytes, than");
}

/* An end that the reader did not tell itself. */
static int judge_end(
	const struct talk *talk, const struct limits *limits, const struct runner_outcome *outcome, struct error *err)
{
	if (!talk->introduced) {
		(void)error_set(err, ERROR_BACKEND_UNAVAILABLE, ARCHIVE_PROGRAM,
			ARCHIVE_PROGRAM " does not start: %s %s", outcome->told, outcome->said);
		return -1;
	}
	if (outcome->end == RUNNER_TIMED_OUT)
		return refuse_end(err, "timeout", limits->time, "it is not read through within");
	if (outcome->end == RUNNER_OUT_OF_MEMORY)
		return refuse_memory(err, limits);
	if (outcome->end == RUNNER_EXITED && outcome->exit_code == 0 && talk->done)
		return 0;
	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive", "its reader failed: %s %s", outcome->told,
		outcome->said);
}

/* Whatever keeps the boundary from being made is not the archive's fault, and must not look like it. */
static int own_failure(struct error *err)
{
	if (err->code != ERROR_CANCELLED && extract_error_is_refusal(err))
		err->code = ERROR_UNENFORCEABLE;
	return -1;
}

static int run_helper(const struct runner *runner, const struct staging *staging, struct talk *talk, struct error *err)
{
	cleanup_close int program = runner->open_program(runner->context, ARCHIVE_PROGRAM, err);
	const struct runner_bind binds[] = {{program, ARCHIVE_PROGRAM_PLACE}, {staging->archive_fd, ARCHIVE_INPUT_PLACE}};
	struct words words;
	struct limits limits;
	const struct runner_setting settings[] = {{"limits.memory", limits.memory}, {"limits.wall_time", limits.time},
		{"limits.cpu_time", limits.time}, {"limits.file_size", limits.file}};
	struct quota quota = {
		staging->tree_fd, talk->options->extracted_max, talk->options->members_max, MEMBER_DEPTH_MAX, WHAT};
	const struct runner_request request = {.what = WHAT,
		.policy = ":archive",
		.argv = words.argv,
		.directory_fd = staging->tree_fd,
		.binds = binds,
		.n_binds = sizeof binds / sizeof *binds,
		.settings = settings,
		.n_settings = sizeof settings / sizeof *settings,
		.output = talk_hear,
		.context = talk,
		.watch = quota_watch,
		.watched = &quota,
		.work = talk->options->work};
	struct runner_outcome outcome = {0};

	if (program < 0)
		return -1;
	fill_words(&words, talk->options);
	fill_limits(&limits, talk->options);
	if (runner->run(runner->context, &request, &outcome, err) < 0)
		return talk->introduced ? -1 : own_failure(err);
	if (talk->failed && talk->error.code == ERROR_NO_MEMORY)
		return refuse_memory(err, &limits);
	if (talk->failed) {
		*err = talk->error;
		return -1;
	}
	talk->totals.as_caller = outcome.as_caller;
	return judge_end(talk, &limits, &outcome, err);
}

/* The rest of what progress has not told. */
static int count_rest(const struct talk *talk, struct error *err)
{
	struct work *work = talk->options->work;
	uint64_t members = talk->totals.members - talk->told_members, bytes = talk->totals.bytes - talk->told_bytes;

	return work != NULL ? work_count(work, members, bytes, "the archive", err) : 0;
}

static int extract_to_staging(const struct runner *runner, int archive_fd, int parent_fd,
	const struct extract_options *options, struct staging *staging, struct extract_totals *ret_totals,
	struct error *err)
{
	struct talk talk = {.options = options};
	uint64_t input_bytes = 0;

	if (staging_make(staging, parent_fd, archive_fd, options, &input_bytes, err) < 0)
		return -1;
	if (run_helper(runner, staging, &talk, err) < 0)
		return -1;
	if (extract_check(staging->tree_fd, options, &talk.totals, err) < 0 || count_rest(&talk, err) < 0)
		return -1;
	*ret_totals = talk.totals;
	ret_totals->input_bytes = input_bytes;
	return 0;
}

/* Fallback: where a file system does not know RENAME_NOREPLACE, a directory still replaces nothing but an empty one. */
static int rename_new(const struct staging *staging, int parent_dirfd, const char *name)
{
	if (renameat2(staging->fd, STAGING_TREE, parent_dirfd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	return renameat(staging->fd, STAGING_TREE, parent_dirfd, name);
}

int extract_into(const struct runner *runner, int archive_fd, int parent_dirfd, const char *name,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err)
{
	cleanup_staging struct staging staging = STAGING_INIT;
	struct extract_totals totals;

	if (extract_to_staging(runner, archive_fd, parent_dirfd, options, &staging, &totals, err) < 0)
		return -1;
	if (rename_new(&staging, parent_dirfd, name) < 0)
		return error_set_errno(err, errno == EEXIST ? ERROR_WORKSPACE_ARCHIVE_WRITE : ERROR_IO, errno,
			"destination", "cannot give the new directory its name");
	*ret_totals = totals;
	return 0;
}

int extract_over(const struct runner *runner, int archive_fd, int dirfd, const struct extract_options *options,
	struct extract_totals *ret_totals, struct error *err)
{
	cleanup_staging struct staging staging = STAGING_INIT;
	struct extract_totals totals;

	if (extract_to_staging(runner, archive_fd, dirfd, options, &staging, &totals, err) < 0 ||
		private_dir_keep(dirfd, staging.name, err) < 0 ||
		extract_merge(staging.tree_fd, dirfd, options->work, &totals.replaced, err) < 0)
		return -1;
	*ret_totals = totals;
	return 0;
}

bool extract_error_is_refusal(const struct error *err)
{
	return err->code == ERROR_LIMIT || err->code == ERROR_WORKSPACE_ARCHIVE_WRITE ||
		err->code == ERROR_UNSUPPORTED || err->code == ERROR_INVALID_COMPRESSION_SCHEME;
}
