/*
 * pinfold wrap: the run that these options ask for, as words that a host starts itself. What belongs to the policy and
 * the command the library puts into words; what only concerns the telling (events, results, notes) and standard input
 * is said on as it was, with paths made absolute, for the host may start it from anywhere.
 *
 * Race: the program that is named must be the one that runs here. A file that was replaced by an update while it runs
 * would be another pinfold, which might not know these words: that is refused.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/notes.h"
#include "runtime/cli/request.h"

#define SELF "/proc/self/exe"

/* Words of the host's `pinfold run`; NULL-terminated. */
struct further {
	const struct settings *settings;
	const char **words;
	size_t n;
};

static void add(struct further *further, const char *word)
{
	const char **slot = arena_push(further->settings->arena, &further->words, &further->n);

	if (slot != NULL)
		*slot = word;
}

static int add_path(struct further *further, const char *option, const char *path, struct error *err)
{
	struct arena *arena = further->settings->arena;
	char here[PATH_MAX];

	if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
		return error_set_errno(err, ERROR_NOT_FOUND, errno, option, "%s %s: the current directory", option, path);
	add(further, option);
	add(further, path[0] == '/' ? path : arena_printf(arena, "%s/%s", here, path));
	return 0;
}

static int add_stdin(struct further *further, struct error *err)
{
	const char *source = further->settings->stdin_from;

	if (source == NULL)
		return 0;
	if (!str_equal(source, "-") && !str_equal(source, "none"))
		return error_set(err, ERROR_USAGE, "options", "--stdin: a file can be gone when the host starts this; %s",
			"let the host give it as standard input");
	add(further, "--stdin");
	add(further, source);
	return 0;
}

static int add_files(struct further *further, struct error *err)
{
	const struct settings *settings = further->settings;

	if (settings->events_file != NULL && add_path(further, "--events", settings->events_file, err) < 0)
		return -1;
	return settings->result_file != NULL ? add_path(further, "--result-file", settings->result_file, err) : 0;
}

static int collect(struct further *further, struct error *err)
{
	const struct settings *settings = further->settings;

	if (add_stdin(further, err) < 0 || add_files(further, err) < 0)
		return -1;
	if (settings->events_fd >= 0) {
		add(further, "--events");
		add(further, arena_printf(settings->arena, "fd:%d", settings->events_fd));
	}
	if (settings->result_fd >= 0) {
		add(further, "--result-fd");
		add(further, arena_printf(settings->arena, "%d", settings->result_fd));
	}
	if (settings->quiet)
		add(further, "--quiet");
	if (settings->verbose)
		add(further, "--verbose");
	add(further, NULL);
	return arena_check(settings->arena, err);
}

static int find_program(char path[static PATH_MAX], struct error *err)
{
	ssize_t size = readlink(SELF, path, PATH_MAX - 1);
	struct stat running, named;

	if (size < 0)
		return error_set_errno(err, ERROR_NOT_FOUND, errno, "readlink", "the path of this program: %s", SELF);
	path[size] = '\0';
	if (stat(SELF, &running) < 0)
		return error_set_errno(err, ERROR_IO, errno, "stat", "%s", SELF);
	if (stat(path, &named) == 0 && named.st_dev == running.st_dev && named.st_ino == running.st_ino)
		return 0;
	(void)error_set(
		err, ERROR_NOT_FOUND, "wrap", "%s is not the program that runs here: it was removed or replaced", path);
	error_set_fix(err, "try again with the one that is there now");
	return -1;
}

/* Without the document the host has to be told that argv alone is not all. */
static void note_variables(const struct settings *settings, const json_t *argv)
{
	const json_t *word;
	size_t i;

	if (settings->quiet)
		return;
	json_array_foreach(argv, i, word)
	{
		if (str_equal(json_string_value(word), "--"))
			return;
		if (str_equal(json_string_value(word), "--env-set")) {
			cli_say("note: it needs variables from its environment; --json has them in \"env\"");
			return;
		}
	}
}

/* The argv alone, on one line. */
static int print_argv(const struct settings *settings, const char *document)
{
	cleanup_json json_t *json = json_loads(document, 0, NULL);
	cleanup_free char *line = NULL;

	if (json == NULL)
		return cli_print_document(settings, NULL);
	line = json_to_string(json_object_get(json, "argv"), 0);
	note_variables(settings, json_object_get(json, "argv"));
	return cli_print_document(settings, line);
}

static int print_wrapped(
	const struct settings *settings, const struct request *request, const char *program, const char *const *options)
{
	pinfold_error *error = NULL;
	char *json = NULL;
	int status;

	if (pinfold_wrap(request->host, request->policy, request->command, program, options, &json, &error) < 0)
		return cli_fail_take(settings, error);
	status = settings->json ? cli_print_document(settings, json) : print_argv(settings, json);
	pinfold_string_free(json);
	return status;
}

int cli_wrap(const struct settings *settings)
{
	cleanup_request struct request request = REQUEST_INIT;
	struct further further = {.settings = settings};
	const char *const *words = NULL;
	char program[PATH_MAX];
	struct error err;
	int status = cli_request_words(settings, &words);

	if (status != CLI_DONE)
		return status;
	if (collect(&further, &err) < 0 || find_program(program, &err) < 0)
		return cli_fail(settings, &err);
	status = cli_request_make(settings, words, false, &request);
	return status == CLI_DONE ? print_wrapped(settings, &request, program, further.words) : status;
}
