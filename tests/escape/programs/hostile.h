/* What the hostile programs share: telling what was tried and whether it went through. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int hostile_escapes;

/* Says that `what` was tried; `through` means that the boundary did not hold. errno is told where it did. */
static inline void tried(const char *what, bool through)
{
	int reason = errno;

	if (through)
		hostile_escapes++;
	printf("%s: %s (%s)\n", through ? "ESCAPED" : "held", what, through ? "went through" : strerror(reason));
	fflush(stdout);
}

/* The exit status of the program. */
static inline int verdict(void)
{
	return hostile_escapes > 0 ? 1 : 0;
}

/* For what is not the attack but its preparation: without it nothing is shown. */
static inline void need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("cannot prepare: %s (%s)\n", what, strerror(errno));
	exit(3);
}

#endif
