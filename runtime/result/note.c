/*
 * What a person should know about a run, in one line: which limit ended it, at which figure, and which option raises
 * it; what was left running, cut off or planted. A run of which there is nothing to say has no note.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/monotime.h"
#include "base/str.h"
#include "runtime/result/result.h"
#include "runtime/result/signal_name.h"

#define MESSAGE_SIZE  1024
#define QUANTITY_SIZE 48

enum unit {
	UNIT_TIME, /* ms */
	UNIT_BYTES,
	UNIT_COUNT
};

struct limit_words {
	const char *name; /* as in limit_hit */
	const char *text;
	enum unit unit;
	const char *option;
};

static const struct limit_words words[] = {
	{"wall_time", "time limit", UNIT_TIME, "--timeout"},
	{"cpu_time", "CPU time limit", UNIT_TIME, "--cpu-time"},
	{"memory", "memory limit", UNIT_BYTES, "--memory"},
	{"processes", "limit of processes", UNIT_COUNT, "--pids"},
	{"file_size", "limit of the size of a file", UNIT_BYTES, "--file-size"},
};

static const struct limit_words *find_words(const char *name)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (str_equal(words[i].name, name))
			return &words[i];
	}
	return NULL;
}

static const char *format(enum unit unit, double value, char buf[QUANTITY_SIZE])
{
	switch (unit) {
	case UNIT_TIME: return str_format_time((uint64_t)value * NS_PER_MS, buf, QUANTITY_SIZE);
	case UNIT_BYTES: return str_format_size((uint64_t)value, buf, QUANTITY_SIZE);
	case UNIT_COUNT: (void)snprintf(buf, QUANTITY_SIZE, "%.0f", value); break;
	}
	return buf;
}

/* What was reached need not be exact, it has to be read. */
static const char *format_rounded(enum unit unit, double value, char buf[QUANTITY_SIZE])
{
	if (unit == UNIT_TIME)
		(void)snprintf(buf, QUANTITY_SIZE, "%.1fs", value / 1000);
	else if (unit == UNIT_BYTES)
		(void)snprintf(buf, QUANTITY_SIZE, "%.1fM", value / (1024 * 1024));
	else
		(void)snprintf(buf, QUANTITY_SIZE, "%.0f", value);
	return buf;
}

static void begin(struct buf *note)
{
	if (note->size > 0)
		buf_append_str(note, note->data[note->size - 1] == '.' ? " " : "; ");
}

static void say_killed(struct buf *note, const struct outcome *outcome)
{
	buf_append_str(note, "; the whole tree was killed");
	if (outcome->processes_peak != USAGE_UNKNOWN && outcome->processes_peak > 1)
		buf_printf(note, " (up to %" PRIu64 " processes)", outcome->processes_peak);
	if (outcome->kill_was_needed)
		buf_append_str(note, ", by SIGKILL because SIGTERM did not end it");
}

static void say_limit(struct buf *note, const struct outcome *outcome)
{
	const struct limit_words *limit = find_words(outcome->limit_name);
	char asked[QUANTITY_SIZE], reached[QUANTITY_SIZE];

	if (limit == NULL)
		return;
	begin(note);
	buf_printf(note, "%s of %s reached", limit->text, format(limit->unit, outcome->limit_value, asked));
	if (outcome->limit_actual > outcome->limit_value || limit->unit == UNIT_TIME)
		buf_printf(note, "%s%s", limit->unit == UNIT_TIME ? " after " : " with ",
			format_rounded(limit->unit, outcome->limit_actual, reached));
	if (strcmp(limit->name, "file_size") != 0)
		say_killed(note, outcome);
	buf_printf(note, ". Raise it with %s.", limit->option);
}

/* The kernel chose this tree when the machine, or a group around it, had no memory left. */
static void say_lack(struct buf *note, const struct outcome *outcome)
{
	if (outcome->status != OUTCOME_OUT_OF_MEMORY || outcome->limit_name != NULL)
		return;
	begin(note);
	buf_append_str(note, "killed by the kernel for lack of memory outside of the run's own limit");
}

static void say_signal(struct buf *note, const struct outcome *outcome)
{
	char name[SIGNAL_NAME_SIZE];

	/* Nobody needs to be told that a reader closed its pipe. */
	if (outcome->status != OUTCOME_SIGNALED || outcome->limit_name != NULL || outcome->signal == SIGPIPE ||
		outcome->error.code != ERROR_NONE)
		return;
	begin(note);
	buf_printf(note, "ended by %s%s", signal_name(outcome->signal, name),
		outcome->core_dumped ? " (core dumped)" : "");
}

static void say_cancelled(struct buf *note, const struct outcome *outcome)
{
	char after[QUANTITY_SIZE];

	if (outcome->status != OUTCOME_CANCELLED)
		return;
	begin(note);
	buf_printf(note, "cancelled after %s", format_rounded(UNIT_TIME, (double)(outcome->wall_ns / NS_PER_MS), after));
	say_killed(note, outcome);
}

static void say_error(struct buf *note, const struct outcome *outcome)
{
	char message[MESSAGE_SIZE];

	if (outcome->error.code == ERROR_NONE)
		return;
	begin(note);
	buf_append_str(note, error_message(&outcome->error, message, sizeof message));
}

static void say_survivors(struct buf *note, const struct outcome *outcome)
{
	if (outcome->survivors_killed == 0)
		return;
	begin(note);
	buf_printf(note, "%" PRIu64 " process%s still running when the command ended, and killed",
		outcome->survivors_killed, outcome->survivors_killed == 1 ? " was" : "es were");
}

static void say_touched(struct buf *note, const struct outcome *outcome)
{
	for (size_t i = 0; i < outcome->n_limits_touched; i++) {
		const struct limit_words *limit = find_words(outcome->limits_touched[i]);

		if (limit == NULL || str_equal(limit->name, outcome->limit_name))
			continue;
		begin(note);
		buf_printf(note, "the %s was met meanwhile; raise it with %s", limit->text, limit->option);
	}
}

static void say_truncated(struct buf *note, const struct outcome *outcome)
{
	static const char *const names[2] = {"stdout", "stderr"};

	for (size_t i = 0; i < 2; i++) {
		if (outcome->streams[i].omitted_bytes == 0)
			continue;
		begin(note);
		buf_printf(note, "%" PRIu64 " bytes of %s were left out; raise the cap with --max-output",
			outcome->streams[i].omitted_bytes, names[i]);
	}
}

static void say_violations(struct buf *note, const struct outcome *outcome)
{
	char path[256];

	if (outcome->n_violations == 0)
		return;
	begin(note);
	buf_printf(note, "%zu violation%s: %s %s (%s)%s", outcome->n_violations, outcome->n_violations == 1 ? "" : "s",
		outcome->violations[0].kind, str_printable(outcome->violations[0].path, path, sizeof path),
		outcome->violations[0].action, outcome->n_violations == 1 ? "" : ", ...");
}

static void say_unkillable(struct buf *note, const struct outcome *outcome)
{
	for (size_t i = 0; i < outcome->n_unkillable; i++)
		buf_printf(note, "%s%s",
			i > 0                    ? ", "
				: note->size > 0 ? "; could not be killed: "
						 : "could not be killed: ",
			outcome->unkillable[i]);
}

char *result_note(const struct outcome *outcome)
{
	cleanup_buf struct buf note = {0};

	say_limit(&note, outcome);
	say_lack(&note, outcome);
	say_cancelled(&note, outcome);
	say_signal(&note, outcome);
	say_error(&note, outcome);
	say_survivors(&note, outcome);
	say_touched(&note, outcome);
	say_truncated(&note, outcome);
	say_violations(&note, outcome);
	say_unkillable(&note, outcome);
	return note.size == 0 ? NULL : buf_steal(&note);
}
