/* Signals by name. glibc knows the ordinary ones; real-time signals are counted from the first, as kill(1) does. */
#include "runtime/result/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *signal_name(int signo, char *buf)
{
	const char *known = sigabbrev_np(signo);

	if (known != NULL)
		(void)snprintf(buf, SIGNAL_NAME_SIZE, "SIG%s", known);
	else if (signo >= SIGRTMIN && signo <= SIGRTMAX)
		(void)snprintf(buf, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", signo - SIGRTMIN);
	else
		(void)snprintf(buf, SIGNAL_NAME_SIZE, "SIG%d", signo);
	return buf;
}
