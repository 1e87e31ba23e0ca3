/* The descriptors that join the command's stdio to the supervisor or the caller. */
#ifndef LAUNCH_STREAMS_H
#define LAUNCH_STREAMS_H

#include "base/error.h"
#include "runtime/plan/plan.h"

struct streams {
	int child[3];  /* for the command; -1: the terminal's */
	bool owned[3]; /* child[i] is ours to close, not the caller's */
	int ours[3];   /* the supervisor's ends, non-blocking; -1: none */
};

must_check int streams_open(const struct plan *plan, struct streams *ret_streams, struct error *err);
/* Makes the host uid of the command the owner of the pipes, which can be opened by their names then (/dev/stderr). */
must_check int streams_give(const struct streams *streams, uid_t host_uid, struct error *err);
/* Closes what is the child's and ours. */
void streams_close_child(struct streams *streams);
void streams_done(struct streams *streams);

#endif
