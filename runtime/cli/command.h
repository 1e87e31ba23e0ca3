/* The verbs of the command line: one table in main.c, one file a verb. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

struct settings;

/* Exit statuses of pinfold's own; those of `run` come from the result. */
enum {
	CLI_DONE = 0,
	CLI_NEGATIVE = 1,
	CLI_USAGE = 2,
	CLI_FAILED = 125
};

struct verb {
	const char *name;
	const char *synopsis; /* what follows "pinfold ", a line each */
	const char *summary;
	const char *text;   /* what `help VERB` says below the options */
	unsigned options;   /* OPTIONS_* of options.h: which rows of the table it takes */
	bool takes_command; /* the first word that is no option begins a command: nothing behind it is ours */
	unsigned words_max; /* where takes_command is false */
	bool hands_on;      /* the run is another process's: its streams are not ours, nor is --json an option of it */
	/* Does it and returns the exit status; whatever went wrong has been said by then. */
	int (*run)(const struct settings *settings);
};

/* Ends with a verb whose name is NULL. */
const struct verb *cli_verbs(void);
const struct verb *cli_verb_find(const char *name); /* NULL where there is none */
const char *cli_verb_nearest(const char *name);     /* for "did you mean"; NULL where none is near */

int cli_run(const struct settings *settings);
int cli_check(const struct settings *settings);
int cli_wrap(const struct settings *settings);
int cli_materialize(const struct settings *settings);
int cli_policy(const struct settings *settings);
int cli_extract(const struct settings *settings);
int cli_gc(const struct settings *settings);
int cli_version(const struct settings *settings);
int cli_help(const struct settings *settings);
/* The help of one verb on stdout; NULL: of the program. */
int cli_help_show(const struct settings *settings, const struct verb *verb);

#endif
