/* The caller's own terminal while a command runs on a private one: raw, and given back as it was. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "base/error.h"

struct terminal {
	bool raw; /* standard input is one, and in raw mode */
	struct termios before;
};
#define cleanup_terminal __attribute__((cleanup(cli_terminal_restore)))

/* No-op where standard input is no terminal. May stop the process, as for any program in the background. */
must_check int cli_terminal_raw(struct terminal *terminal, struct error *err);
void cli_terminal_restore(struct terminal *terminal); /* no-op where not raw */
/* Of the first of stdin, stdout, stderr that is a terminal; false where none is. */
bool cli_terminal_size(unsigned *ret_rows, unsigned *ret_columns);

#endif
