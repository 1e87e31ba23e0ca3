/* The signals that pinfold acts on while a run lives, read from a descriptor. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"

struct signals {
	int fd;
	sigset_t before; /* the mask to go back to */
};
#define SIGNALS_INIT     \
	{                \
		.fd = -1 \
	}
#define cleanup_signals __attribute__((cleanup(cli_signals_close)))

/* Once, first thing in the program: what the caller has left blocked or ignored must not change how pinfold works. */
must_check int cli_signals_reset(struct error *err);
/* terminal: also what concerns a terminal in raw mode. */
must_check int cli_signals_open(struct signals *signals, bool terminal, struct error *err);
/* The next one that arrived, 0 where there is none; never waits. */
int cli_signals_next(const struct signals *signals);
bool cli_signal_cancels(int signo);
/* Gives up what has arrived meanwhile and goes back to the mask before. */
void cli_signals_close(struct signals *signals);

#endif
