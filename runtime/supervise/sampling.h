/* Looking at the tree from time to time: limits that no kernel mechanism holds, and figures for the result. */
#ifndef SUPERVISE_SAMPLING_H
#define SUPERVISE_SAMPLING_H

#include "base/error.h"
#include "runtime/supervise/state.h"

/* Arms the first look. Fails where a limit depends on looking and that is not possible. */
must_check int sampling_start(struct supervisor *s, struct error *err);
/* SIGKILL to what is known of a tree that has lost its init. */
void sampling_kill_seen(const struct supervisor *s);
void sampling_stop(struct supervisor *s);

#endif
