/*
 * Every option is a row: its names, its argument, what it does and how help explains it. Most rows only carry their
 * argument to a policy field, so that a flag and the policy file accept exactly the same text and complain alike; what
 * a value may be is the library's business. A row with a function of its own is an option that means more than one thing.
 *
 * The order of the rows is the order in which help and the manual page show them.
 */
#include "runtime/cli/options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotime.h"
#include "base/str.h"
#include "include/pinfold.h"

static int set_policy_name(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	if (*value == '\0')
		return error_set(err, ERROR_USAGE, "options", "%s: the argument is empty", row->name);
	settings->policy_name = value;
	settings->policy_text = NULL;
	return 0;
}

static int set_policy_text(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	(void)row;
	(void)err;
	settings->policy_text = value;
	settings->policy_name = NULL;
	return 0;
}

static int set_variable(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	bool assigns = strchr(value, '=') != NULL;

	if (*value == '\0' || *value == '=')
		return error_set(err, ERROR_USAGE, "options", "%s: a variable needs a name", row->name);
	return cli_settings_override(settings, assigns ? "process.env.set" : "process.env.pass", value, row->name, err);
}

/* K or K=SOURCE. A source of another name only carries the value, and is not the command's to see. */
static int set_variable_from(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	size_t length = strcspn(value, "=");
	const char *source = value[length] == '=' ? value + length + 1 : value;
	const char *found = getenv(source);
	const char *entry;

	if (length == 0)
		return error_set(err, ERROR_USAGE, "options", "%s: a variable needs a name", row->name);
	if (found == NULL)
		return error_set(err, ERROR_USAGE, "options", "%s: there is no variable %s", row->name, source);
	entry = arena_printf(settings->arena, "%.*s=%s", (int)length, value, found);
	if (entry == NULL || (source != value && unsetenv(source) < 0))
		return error_no_memory(err);
	return cli_settings_override(settings, "process.env.set", entry, row->name, err);
}

static int clear_field(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	(void)value;
	return cli_settings_override(settings, row->field, NULL, row->name, err);
}

/* "a,b" is two entries. */
static int append_each(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	for (const char *at = value;; at++) {
		size_t length = strcspn(at, ",");
		const char *entry = arena_strndup(settings->arena, at, length);

		if (entry == NULL)
			return error_no_memory(err);
		if (length == 0)
			return error_set(err, ERROR_USAGE, "options", "%s: an entry is empty", row->name);
		if (cli_settings_override(settings, row->field, entry, row->name, err) < 0)
			return -1;
		at += length;
		if (*at == '\0')
			return 0;
	}
}

static int set_output_limit(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	settings->relay = true;
	return cli_settings_override(settings, row->field, value, row->name, err);
}

static int set_kill_after(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	uint64_t ns = 0;

	if (!str_equal(value, "0") && str_parse_time(value, &ns, err) < 0) {
		error_prefix(err, "%s", row->name);
		err->code = ERROR_USAGE;
		return -1;
	}
	settings->kill_after_ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
	return 0;
}

/* A descriptor that the caller has opened for us. Known to be usable before anything is started. */
static int parse_descriptor(const struct settings *settings, const struct option_row *row, const char *value,
	int *ret_fd, struct error *err)
{
	uint64_t number;
	int flags;

	if (str_parse_u64(value, 1, INT_MAX, &number, err) < 0) {
		error_prefix(err, "%s", row->name);
		err->code = ERROR_USAGE;
		return -1;
	}
	*ret_fd = (int)number;
	if (settings->verb->hands_on)
		return 0;
	flags = fcntl((int)number, F_GETFL);
	if (flags < 0)
		return error_set(err, ERROR_USAGE, "options", "%s: descriptor %s is not open", row->name, value);
	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0)
		return error_set(
			err, ERROR_USAGE, "options", "%s: descriptor %s is not open for writing", row->name, value);
	return 0;
}

static int set_result_fd(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	return parse_descriptor(settings, row, value, &settings->result_fd, err);
}

static int set_events(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	if (*value == '\0')
		return error_set(err, ERROR_USAGE, "options", "%s: the argument is empty", row->name);
	settings->events_fd = -1;
	settings->events_file = NULL;
	if (str_starts_with(value, "fd:"))
		return parse_descriptor(settings, row, value + strlen("fd:"), &settings->events_fd, err);
	settings->events_file = value;
	return 0;
}

static int add_grant(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	const char **grant;

	if (*value == '\0')
		return error_set(err, ERROR_USAGE, "options", "%s: the argument is empty", row->name);
	grant = arena_push(settings->arena, &settings->grants, &settings->n_grants);
	if (grant == NULL)
		return error_no_memory(err);
	*grant = value;
	return 0;
}

static int set_jobs(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	uint64_t jobs = PINFOLD_JOBS_NONE;

	if (!str_equal(value, "none") && str_parse_u64(value, 1, 1024, &jobs, err) < 0) {
		error_prefix(err, "%s", row->name);
		err->code = ERROR_USAGE;
		return -1;
	}
	settings->jobs = (unsigned)jobs;
	return 0;
}

static int set_files_max(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	settings->files_max = UINT64_MAX;
	if (str_equal(value, "none") || str_parse_u64(value, 1, INT64_MAX, &settings->files_max, err) == 0)
		return 0;
	error_prefix(err, "%s", row->name);
	err->code = ERROR_USAGE;
	return -1;
}

static int set_bytes_max(struct settings *settings, const struct option_row *row, const char *value, struct error *err)
{
	settings->bytes_max = UINT64_MAX;
	if (str_equal(value, "none"))
		return 0;
	if (str_parse_size(value, &settings->bytes_max, err) < 0) {
		error_prefix(err, "%s", row->name);
		err->code = ERROR_USAGE;
		return -1;
	}
	return settings->bytes_max > 0
		? 0
		: error_set(err, ERROR_USAGE, "options", "%s: 0 is no limit to work with", row->name);
}

#define FIELD(f) .kind = OPTION_FIELD, .field = (f)
#define FLAG(m)  .kind = OPTION_FLAG, .offset = offsetof(struct settings, m)
#define TEXT(m)  .kind = OPTION_TEXT, .offset = offsetof(struct settings, m)
#define CALL(fn) .kind = OPTION_CALL, .call = (fn)
#define IN(g, s) .group = GROUP_##g, .sets = OPTIONS_##s
/* Of verbs about workspaces too. */
#define IN_TOO(g, s) .group = GROUP_##g, .sets = OPTIONS_##s | OPTIONS_MATERIALIZE

/* clang-format off */
static const struct option_row option_rows[] = {
	{"--policy", 'p', "NAME|FILE", IN_TOO(POLICY, POLICY), CALL(set_policy_name), .help =
		"what to enforce: a built-in (see \"pinfold policy list\") or a JSON file; default :read-only"},
	{"--policy-json", 0, "TEXT", IN_TOO(POLICY, POLICY), CALL(set_policy_text), .help =
		"the policy itself, as JSON text"},
	{"--backend", 0, "auto|namespaces|none", IN(POLICY, POLICY), FIELD("backend"), .help =
		"what isolates; auto never falls to none"},
	{"--best-effort", 0, NULL, IN(POLICY, POLICY), .kind = OPTION_FIXED, .field = "enforcement",
		.value = "best-effort", .help =
		"run even where something asked cannot be enforced here; the result says what was lost"},
	{"--require", 0, "FEATURE[,..]", IN(POLICY, POLICY), CALL(append_each), .field = "require", .help =
		"refuse to run unless these rows of \"pinfold check\" are enforced; FEATURE=MECHANISM names the mechanism too"},

	{"--workspace", 'w', "DIR", IN(COMMAND, RUN), TEXT(workspace), .help =
		"the directory the work is about, seen inside at its own path; default: the current directory"},
	{"--cd", 'C', "DIR", IN(COMMAND, RUN), TEXT(directory), .help =
		"start in DIR; default: the current directory where it lies in the workspace, else the workspace"},
	{"-c", 'c', "STRING", IN(COMMAND, RUN), TEXT(shell_text), .help =
		"run /bin/sh -c STRING; further words become $0, $1, ..."},

	{"--read", 0, "P", IN(FILES, POLICY), FIELD("filesystem.read"), .help =
		"path P may be read; relative to the workspace, as in all of these; may be repeated, as all of these"},
	{"--write", 0, "P", IN(FILES, POLICY), FIELD("filesystem.write"), .help =
		"path P may be read and written"},
	{"--deny", 0, "P", IN(FILES, POLICY), FIELD("filesystem.deny"), .help =
		"path P can be neither read nor listed; the longest matching path wins, then deny, read, write"},
	{"--tmpfs", 0, "P[:SIZE]", IN(FILES, POLICY), FIELD("filesystem.tmpfs"), .help =
		"an empty directory in memory at P, gone afterwards"},

	{"--net", 0, "none|host", IN(NETWORK, POLICY), FIELD("network.mode"), .help =
		"no network but a loopback of its own, or the network of this machine"},

	{"--env", 'e', "K[=V]", IN(ENVIRONMENT, POLICY), CALL(set_variable), .help =
		"set variable K to V; without =V, pass the caller's K on; may be repeated"},
	{"--env-set", 0, "K[=SOURCE]", IN(ENVIRONMENT, POLICY), CALL(set_variable_from), .help =
		"set variable K to what SOURCE (default: K) is in pinfold's own environment: no list of processes shows it"},
	{"--clear-env", 0, NULL, IN(ENVIRONMENT, POLICY), CALL(clear_field), .field = "process.env.pass", .help =
		"pass no variable of the caller on, except those named by a later --env"},

	{"--timeout", 0, "T", IN(LIMITS, POLICY), FIELD("limits.wall_time"), .help =
		"end the whole tree after this time"},
	{"--cpu-time", 0, "T", IN(LIMITS, POLICY), FIELD("limits.cpu_time"), .help =
		"end the whole tree after this much processor time"},
	{"--memory", 0, "S", IN(LIMITS, POLICY), FIELD("limits.memory"), .help =
		"memory of all processes together"},
	{"--pids", 0, "N", IN(LIMITS, POLICY), FIELD("limits.processes"), .help =
		"processes and threads at a time"},
	{"--cpus", 0, "F", IN(LIMITS, POLICY), FIELD("limits.cpus"), .help =
		"processors, as in 0.5 or 2"},
	{"--file-size", 0, "S", IN(LIMITS, POLICY), FIELD("limits.file_size"), .help =
		"size of any one file written"},
	{"--open-files", 0, "N", IN(LIMITS, POLICY), FIELD("limits.open_files"), .help =
		"open files of a process"},
	{"--tmp-size", 0, "S", IN(LIMITS, POLICY), FIELD("limits.tmp_size"), .help =
		"size of each private temporary directory"},
	{"--max-output", 0, "S", IN(LIMITS, POLICY), CALL(set_output_limit), .field = "limits.output", .help =
		"bytes of stdout and of stderr that are kept or passed on, each; the rest is read and dropped"},
	{"--memory-strategy", 0, "auto|cgroup|rlimit_as|watchdog", IN(LIMITS, POLICY), FIELD("limits.memory_strategy"),
		.help = "what enforces --memory; a named one is never replaced"},
	{"--kill-after", 0, "T", IN(LIMITS, RUN), CALL(set_kill_after), .help =
		"at a time-out or cancellation send SIGTERM first and SIGKILL to the tree after T; default 0: SIGKILL at once"},

	{"--base", 0, "DIR", IN(WORKSPACE, MATERIALIZE), TEXT(base), .help =
		"what relative sources are relative to, and absolute ones must lie below; default: the manifest's directory"},
	{"--grant", 0, "PATH[:ro]", IN(WORKSPACE, MATERIALIZE), CALL(add_grant), .help =
		"sources may lie below PATH too; absolute; may be repeated, and the longest counts"},
	{"--jobs", 0, "N|none", IN(WORKSPACE, MATERIALIZE), CALL(set_jobs), .help =
		"how many entries are copied, fetched or unpacked at a time; default 4"},
	{"--max-files", 0, "N|none", IN(WORKSPACE, MATERIALIZE), CALL(set_files_max), .help =
		"files and directories that may be made in all; default 1000000"},
	{"--max-bytes", 0, "S|none", IN(WORKSPACE, MATERIALIZE), CALL(set_bytes_max), .help =
		"bytes of all files together; default 16G"},
	{"--ephemeral-only", 0, NULL, IN(WORKSPACE, MATERIALIZE), FLAG(ephemeral_only), .help =
		"make anew what is ephemeral, and leave the rest as it is"},
	{"--schema", 0, NULL, IN(WORKSPACE, MATERIALIZE), FLAG(schema), .help =
		"print the JSON Schema of manifests"},

	{"--max-input", 0, "S", IN(ARCHIVE, ARCHIVE), FIELD("max-input"), .help =
		"bytes of the archive itself; default 1G"},
	{"--max-extracted", 0, "S", IN(ARCHIVE, ARCHIVE), FIELD("max-extracted"), .help =
		"bytes of all files together, as they come out; default 4G"},
	{"--max-members", 0, "N", IN(ARCHIVE, ARCHIVE), FIELD("max-members"), .help =
		"members, with the directories that their names imply; default 100000"},
	{"--max-ratio", 0, "N", IN(ARCHIVE, ARCHIVE), FIELD("max-ratio"), .help =
		"how many times as many bytes may come out as go in, once 64M are out; default 200"},
	{"--timeout", 0, "T", IN(ARCHIVE, ARCHIVE), FIELD("timeout"), .help =
		"end the extraction after this time; default 10m"},
	{"--strip-components", 0, "N", IN(ARCHIVE, ARCHIVE), FIELD("strip-components"), .help =
		"take the first N parts of each name away; members with no more than that are left out"},
	{"--links", 0, "none|inside", IN(ARCHIVE, ARCHIVE), FIELD("links"), .help =
		"inside: make symbolic links whose target stays in the destination; default none: refuse the archive"},
	{"--portable", 0, NULL, IN(ARCHIVE, ARCHIVE), .kind = OPTION_FIXED, .field = "portable", .value = "true", .help =
		"refuse names that differ in case alone"},

	{"--stdin", 0, "FILE|-|none", IN(STREAMS, RUN), TEXT(stdin_from), .help =
		"standard input from FILE, from pinfold's own (-), or none; default: -, or none where output is captured"},
	{"--capture", 0, NULL, IN(STREAMS, RUN), FLAG(capture), .help =
		"keep the output, head and tail up to the output limit, and print it at the end"},
	{"--tty", 0, NULL, IN(STREAMS, RUN), FLAG(tty), .help =
		"give the command a private terminal, relayed to this one"},

	{"--json", 0, NULL, IN(TELLING, COMMON), FLAG(json), .help =
		"one JSON document on stdout: the answer, or the error; for run it implies --capture"},
	{"--events", 0, "FILE|fd:N", IN(TELLING, RUN), CALL(set_events), .help =
		"what happens while it runs, as JSON lines"},
	{"--result-file", 0, "F", IN(TELLING, RUN), TEXT(result_file), .help =
		"write the result JSON to F, which is replaced at once when it is complete"},
	{"--result-fd", 0, "N", IN(TELLING, RUN), CALL(set_result_fd), .help =
		"write the result JSON to descriptor N"},
	{"--dry-run", 0, NULL, IN_TOO(TELLING, RUN), FLAG(dry_run), .help =
		"print what would be done, for run the plan as JSON, and start or touch nothing"},
	{"--trace-setup", 0, NULL, IN(TELLING, RUN), FLAG(trace_setup), .help =
		"say on stderr at the end where the time of the launch went, step by step"},
	{"--verbose", 'v', NULL, IN(TELLING, RUN), FLAG(verbose), .help =
		"say on stderr beforehand what is not enforced, and why"},
	{"--quiet", 'q', NULL, IN_TOO(TELLING, RUN), FLAG(quiet), .help =
		"no notes on stderr; errors are still told"},
	{"--help", 'h', NULL, IN(TELLING, COMMON), FLAG(help), .help =
		"this text"},
	{.name = NULL},
};
/* clang-format on */

const struct option_row *cli_options(void)
{
	return option_rows;
}

const char *cli_option_group_title(enum option_group group)
{
	static const char *const titles[_GROUP_COUNT] = {
		[GROUP_POLICY] = "Policy",
		[GROUP_COMMAND] = "Command",
		[GROUP_FILES] = "Files",
		[GROUP_NETWORK] = "Network",
		[GROUP_ENVIRONMENT] = "Environment",
		[GROUP_LIMITS] = "Limits (times: 500ms 30s 5m 1h; sizes: K M G T, 1K is 1024; \"none\" lifts one)",
		[GROUP_WORKSPACE] = "Workspaces",
		[GROUP_ARCHIVE] = "Archive (sizes: K M G T; \"none\" lifts a limit)",
		[GROUP_STREAMS] = "Streams",
		[GROUP_TELLING] = "What is told",
	};

	return titles[group];
}
