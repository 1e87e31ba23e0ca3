/*
 * The settings hold what was said, in the order in which it was said, and decide nothing but whether the flags agree
 * with each other. Strings point into argv, which lives as long as the process, or into the arena.
 *
 * Contradictions are refused rather than resolved by some rule: who asks for a terminal and for captured output at once
 * has made a mistake, and either choice would be a surprise.
 */
#include "runtime/cli/settings.h"

#include <unistd.h>

int cli_settings_init(struct settings *settings, const struct verb *verb, struct error *err)
{
	*settings = (struct settings){.verb = verb, .events_fd = -1, .result_fd = -1};
	return arena_new(&settings->arena, err);
}

void cli_settings_done(struct settings *settings)
{
	settings->arena = arena_free(settings->arena);
}

int cli_settings_override(
	struct settings *settings, const char *field, const char *value, const char *origin, struct error *err)
{
	struct override *override = arena_push(settings->arena, &settings->overrides, &settings->n_overrides);

	if (override == NULL)
		return error_no_memory(err);
	*override = (struct override){field, value, origin};
	return 0;
}

bool cli_settings_captures(const struct settings *settings)
{
	return settings->capture || (settings->json && !settings->verb->hands_on);
}

int cli_settings_check(const struct settings *settings, struct error *err)
{
	bool json = settings->json && !settings->verb->hands_on;
	const struct {
		bool wrong;
		const char *text;
	} contradictions[] = {
		{settings->tty && settings->capture, "--tty and --capture exclude each other"},
		{settings->tty && json, "--tty and --json exclude each other"},
		{settings->tty && settings->relay, "--tty and --max-output exclude each other"},
		{json && settings->result_fd == STDOUT_FILENO, "--json and --result-fd 1 would both print the result"},
		{json && settings->events_fd == STDOUT_FILENO, "--json and --events fd:1 would mix on stdout"},
		{settings->dry_run && settings->verb->hands_on, "--dry-run: nothing is started anyway"},
		{settings->verbose && settings->quiet, "-v and -q exclude each other"},
	};

	for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++)
		if (contradictions[i].wrong)
			return error_set(err, ERROR_USAGE, "options", "%s", contradictions[i].text);
	return 0;
}
