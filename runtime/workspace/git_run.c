/*
 * Running git so that nothing of a repository, of the user or of the machine makes it run or read anything else.
 *
 * The repository is hostile, and so may be the server. What git would do for them is switched off one by one: hooks,
 * the file-system monitor, filters and diff drivers (there is no configuration that defines one, and attributes alone
 * define none), credential helpers and prompts, transports other than the one that is needed, submodules, replacement
 * objects. The configuration of system and user is not read; ours is shown read-only in its place, because the helper
 * that git starts in a repository of this machine (upload-pack) gets no -c and no GIT_CONFIG_COUNT, but does get
 * GIT_CONFIG_GLOBAL. Should git be made to run something all the same, it does so in a boundary: it sees the system's
 * programs, the one repository, read-only, and its own temporary directory, and has no network where none is needed.
 *
 * No value of the caller's environment goes in.
 */
#include "runtime/workspace/git_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "runtime/workspace/quota.h"

#define CONFIG_INSIDE   "/git/config"
#define CONFIG_VARIABLE "GIT_CONFIG_GLOBAL=/git/config"
#define ARGUMENTS_MAX   24
#define SAID_MAX        2048
#define SAID_SHOWN_MAX  360
/* A pack, a second one where the first was not enough, and the files: each at most bytes_max, which holds for each
 * file. A server that knows no packs to order can send as many files as it likes. */
#define QUOTA_TIMES   3
#define QUOTA_ENTRIES 4000000

static const char *const programs[] = {"/usr/bin/git", "/usr/local/bin/git", "/bin/git"};

static const char config[] =
	"[safe]\n\tdirectory = *\n" /* whoever owns it: nothing of it is run */
	"[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tattributesFile = /dev/null\n\texcludesFile = /dev/null\n"
	"\taskPass = /bin/false\n\tsshCommand = /bin/false\n\tpager = cat\n\teditor = /bin/false\n\tautocrlf = false\n"
	"\tprotectHFS = true\n\tprotectNTFS = true\n"
	"[credential]\n\thelper =\n"
	"[fetch]\n\trecurseSubmodules = false\n\tunpackLimit = 1\n" /* one file, so that its size can be limited */
	"[submodule]\n\trecurse = false\n"
	"[gc]\n\tauto = 0\n"
	"[maintenance]\n\tauto = false\n"
	"[pack]\n\tthreads = 2\n"
	"[checkout]\n\tworkers = 1\n"
	"[advice]\n\tdetachedHead = false\n";

static const char *const environment[] = {"GIT_CONFIG_NOSYSTEM=1", CONFIG_VARIABLE, "GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_LITERAL_PATHSPECS=1",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C"};
#define ENVIRONMENT_N (sizeof environment / sizeof *environment)

int git_find_program(const char **ret_program, struct error *err)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		if (access(programs[i], X_OK) == 0) {
			*ret_program = programs[i];
			return 0;
		}
	}
	error_set(err, ERROR_GIT_CLONE, "find git", "there is no git at %s, %s or %s", programs[0], programs[1],
		programs[2]);
	error_set_fix(err, "install git (apt-get install git)");
	error_add_context(err, "reason", "git_missing");
	if (err != NULL)
		err->retryable = ERROR_RETRY_NO;
	return -1;
}

int git_write_config(int dirfd, const char *name, struct error *err)
{
	cleanup_close int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int readable;

	if (fd < 0 || fd_write_all(fd, config, sizeof config - 1) < 0 || fchmod(fd, 0644) < 0)
		return error_set_errno(err, ERROR_IO, errno, "git", "cannot write git's configuration");
	readable = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (readable < 0)
		return error_set_errno(err, ERROR_IO, errno, "git", "cannot open git's configuration");
	return readable;
}

/* The end of what git wrote to stderr: its last lines say what was wrong. */
struct said {
	char text[SAID_MAX];
	size_t size;
};

struct hearing {
	const struct git_hearer *hearer;
	struct said said;
};

static void keep_end(struct said *said, const char *data, size_t size)
{
	size_t over;

	if (size > sizeof said->text) {
		data += size - sizeof said->text;
		size = sizeof said->text;
	}
	over = said->size + size > sizeof said->text ? said->size + size - sizeof said->text : 0;
	memmove(said->text, said->text + over, said->size - over);
	said->size -= over;
	memcpy(said->text + said->size, data, size);
	said->size += size;
}

static int hear(void *context, int stream, const void *data, size_t size, struct error *err)
{
	struct hearing *hearing = context;

	if (stream == 2) {
		keep_end(&hearing->said, data, size);
		return 0;
	}
	return hearing->hearer != NULL ? hearing->hearer->hear(hearing->hearer->context, data, size, err) : 0;
}

/* Threat: what stands between "://" and '@' may be a password; a server can send one back in a redirection. */
static void strike_credentials(char *text)
{
	for (char *at = strstr(text, "://"); at != NULL; at = strstr(at, "://")) {
		size_t size, user = 0;

		at += 3;
		size = strcspn(at, "/ \t\r\n'\"");
		for (size_t i = 0; i < size; i++) {
			if (at[i] == '@')
				user = i;
		}
		memset(at, '*', user);
	}
}

/* In one line: git's lines are parted by "; ", the empty ones, carriage returns and quotes left out. */
static void put_in_line(const struct said *said, char *line, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < said->size && used + 3 < size; i++) {
		char c = said->text[i];

		if (c == '\'' || c == '"')
			continue;
		if (c != '\n' && c != '\r' && c != '\0') {
			line[used++] = c;
		} else if (used > 0 && line[used - 1] != ' ') {
			line[used++] = ';';
			line[used++] = ' ';
		}
	}
	while (used > 0 && (line[used - 1] == ' ' || line[used - 1] == ';'))
		used--;
	line[used] = '\0';
}

/* The first word that is no option. */
static const char *command_of(const char *const *arguments)
{
	while (arguments[0][0] == '-' && arguments[1] != NULL)
		arguments++;
	return arguments[0];
}

static int refuse(
	const char *const *arguments, const struct runner_outcome *outcome, const struct said *said, struct error *err)
{
	char line[SAID_MAX + 8], shown[SAID_SHOWN_MAX], status[32];
	size_t length, skipped = 0;

	put_in_line(said, line, sizeof line);
	strike_credentials(line);
	length = strlen(line);
	if (length > sizeof shown - 1)
		skipped = length - (sizeof shown - 1) +
			str_utf8_ceil(line + length - (sizeof shown - 1), sizeof shown - 1);
	(void)str_printable(line + skipped, shown, sizeof shown);
	(void)snprintf(status, sizeof status, "exit status %d", outcome->exit_code);
	error_set(err, ERROR_GIT_CLONE, "git", "git %s: %s%s%s", command_of(arguments),
		outcome->end == RUNNER_EXITED ? status : outcome->told, shown[0] != '\0' ? ": " : "", shown);
	return GIT_REFUSED;
}

static int judge(
	const char *const *arguments, const struct runner_outcome *outcome, const struct said *said, struct error *err)
{
	if (outcome->end == RUNNER_EXITED && outcome->exit_code == 0)
		return GIT_DONE;
	return refuse(arguments, outcome, said, err);
}

static int fill_argv(const char *argv[ARGUMENTS_MAX], const char *program, const char *const *arguments, struct error *err)
{
	size_t n = 0;

	argv[n++] = program;
	for (size_t i = 0; arguments[i] != NULL; i++) {
		if (n == ARGUMENTS_MAX - 1)
			return error_set(err, ERROR_INTERNAL, "git", "too many arguments");
		argv[n++] = arguments[i];
	}
	argv[n] = NULL;
	return 0;
}

int git_run(struct git_run *run, const char *const *arguments, const struct git_hearer *hearer, struct error *err)
{
	const bool network = run->repo_fd < 0;
	const struct runner_bind binds[] = {
		{.fd = run->config_fd, .target = CONFIG_INSIDE}, {.fd = run->repo_fd, .target = GIT_SOURCE_INSIDE}};
	char size[32];
	const struct runner_setting settings[] = {
		{"limits.file_size", size}, {"network.mode", "host"}, {"filesystem.read", "/etc/resolv.conf"}};
	const char *argv[ARGUMENTS_MAX], *variables[ENVIRONMENT_N + 2];
	struct hearing hearing = {.hearer = hearer};
	struct runner_outcome outcome;
	struct quota quota = {run->place_fd, QUOTA_TIMES * run->bytes_max, QUOTA_ENTRIES, 0, "git"};
	struct runner_request request = {.what = "git",
		.policy = ":git",
		.argv = argv,
		.environment = variables,
		.directory_fd = run->place_fd,
		.binds = binds,
		.n_binds = network ? 1 : 2,
		.settings = settings,
		.n_settings = network ? 3 : 1,
		.output = hear,
		.context = &hearing,
		.watch = quota_watch,
		.watched = &quota,
		.work = run->work};

	memcpy(variables, environment, sizeof environment);
	variables[ENVIRONMENT_N] = network ? "GIT_ALLOW_PROTOCOL=https:http" : "GIT_ALLOW_PROTOCOL=file";
	variables[ENVIRONMENT_N + 1] = NULL;
	(void)str_format_size(run->bytes_max, size, sizeof size);
	if (fill_argv(argv, run->program, arguments, err) < 0)
		return -1;
	if (run->runner->run(run->runner->context, &request, &outcome, err) < 0)
		return -1;
	run->as_caller |= outcome.as_caller;
	return judge(arguments, &outcome, &hearing.said, err);
}
