/* The one table of options, shared by all verbs and by their help, and the parser that walks it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>

#include "base/error.h"
#include "runtime/cli/settings.h"

/* Which verbs take a row: a verb names the sets it takes. */
enum {
	OPTIONS_COMMON = 1 << 0, /* every verb */
	OPTIONS_POLICY = 1 << 1, /* verbs that use a policy */
	OPTIONS_RUN = 1 << 2,    /* verbs about a command: run, check, wrap */
	OPTIONS_MATERIALIZE = 1 << 3,
	OPTIONS_ARCHIVE = 1 << 4, /* verbs that take an archive apart */
};

enum option_group {
	GROUP_POLICY,
	GROUP_COMMAND,
	GROUP_FILES,
	GROUP_NETWORK,
	GROUP_ENVIRONMENT,
	GROUP_LIMITS,
	GROUP_WORKSPACE,
	GROUP_ARCHIVE,
	GROUP_STREAMS,
	GROUP_TELLING,
	_GROUP_COUNT
};

enum option_kind {
	OPTION_FIELD, /* the argument goes to a policy field */
	OPTION_FIXED, /* no argument: the field gets the row's value */
	OPTION_FLAG,  /* a bool of the settings */
	OPTION_TEXT,  /* a const char * of the settings; must not be empty */
	OPTION_CALL,  /* a function of its own */
};

struct option_row;
typedef int (*option_fn)(struct settings *settings, const struct option_row *row, const char *value, struct error *err);

struct option_row {
	const char *name;     /* "--memory" */
	char letter;          /* 'm' for -m; 0: none */
	const char *argument; /* NULL: takes none */
	enum option_group group;
	unsigned sets;
	enum option_kind kind;
	const char *field; /* FIELD, FIXED, and where CALL wants one */
	const char *value; /* FIXED */
	size_t offset;     /* FLAG, TEXT: in struct settings */
	option_fn call;
	const char *help;
};

/* Ends with a row whose name is NULL. */
const struct option_row *cli_options(void);
const char *cli_option_group_title(enum option_group group);

/* Reads the words behind the verb's name into settings, whose verb is set. Any mistake is ERROR_USAGE. */
must_check int cli_options_parse(struct settings *settings, char **words, struct error *err);

#endif
