/* The datagrams between launch_start() and its child, until init takes the socket over. */
#ifndef LAUNCH_SETUP_MESSAGE_H
#define LAUNCH_SETUP_MESSAGE_H

#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/steps.h"

enum setup_kind {
	SETUP_GO = 1,
	SETUP_READY, /* child: everything stands; descriptors in the order of the bits of `present` */
	SETUP_FAILED /* child: `error` */
};

/* Descriptors of SETUP_READY. */
enum setup_fd {
	SETUP_FD_MOUNTINFO,
	SETUP_FD_PROC,
	SETUP_FD_SYSVIPC,
	SETUP_FD_SYSVIPC_SEM,
	SETUP_FD_SYSVIPC_MSG,
	SETUP_FD_MOUNTINFO_CHECK,
	SETUP_FD_TTY,
	SETUP_FD_TMPFS, /* this and the following: the tmpfs mounts whose bytes count as memory, scratch first */
	SETUP_FD_MAX = SETUP_FD_TMPFS + 16
};

#define SETUP_MARKS_MAX 8

/* From the parent: the ids are mapped. Descriptors: the sources of binds, where the parent opened them. */
struct setup_go {
	uint32_t kind;             /* SETUP_GO */
	uint32_t more;             /* 1 where another comes after it */
	uint32_t n;                /* descriptors */
	uint32_t ops[FD_SEND_MAX]; /* for each descriptor the index of its mount operation */
};

/* From the child. */
struct setup_message {
	uint32_t kind;
	uint32_t present; /* READY: a bit for each descriptor */
	uint32_t n_marks; /* READY: how many of */
	struct step_mark marks[SETUP_MARKS_MAX];
	struct error error;
};

#endif
