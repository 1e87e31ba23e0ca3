/* What the words of one command line said, before any of it is done. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/cli/command.h"

/* One flag that changes the policy. They are applied in the order of the command line once the policy is loaded, which
 * may be named behind them. */
struct override {
	const char *field;
	const char *value;  /* NULL: empty the list */
	const char *origin; /* "--memory" */
};

struct settings {
	struct arena *arena; /* of the overrides and of what handlers cut out of words */
	const struct verb *verb;
	char **words; /* the command, or the verb's own words; NULL-terminated */
	size_t n_words;
	/* policy: at most one of these, the later flag wins */
	const char *policy_name;
	const char *policy_text;
	struct override *overrides;
	size_t n_overrides;
	/* where and what */
	const char *workspace;
	const char *directory;
	const char *shell_text; /* -c */
	/* streams */
	const char *stdin_from; /* a file, "-", "none"; NULL: by the kind of run */
	bool capture;
	bool relay; /* --max-output was given */
	bool tty;
	/* workspaces */
	const char *base;
	const char **grants;
	size_t n_grants;
	unsigned jobs;                 /* 0: not said */
	uint64_t files_max, bytes_max; /* the same */
	bool ephemeral_only;
	bool schema;
	/* what is told, and where */
	bool json;
	const char *events_file;
	int events_fd; /* -1: none; borrowed from the caller */
	const char *result_file;
	int result_fd; /* -1: none; borrowed */
	bool verbose;
	bool quiet;
	bool dry_run;
	bool trace_setup;
	uint64_t begin_ns; /* CLOCK_MONOTONIC when the program began */
	bool help;
	uint64_t kill_after_ms;
};

#define cleanup_settings __attribute__((cleanup(cli_settings_done)))

must_check int cli_settings_init(struct settings *settings, const struct verb *verb, struct error *err);
void cli_settings_done(struct settings *settings);
must_check int cli_settings_override(
	struct settings *settings, const char *field, const char *value, const char *origin, struct error *err);
/* Output is kept and told at the end. */
bool cli_settings_captures(const struct settings *settings);
/* Refuses flags that contradict each other. */
must_check int cli_settings_check(const struct settings *settings, struct error *err);

#endif
