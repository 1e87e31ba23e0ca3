/* How a run ends: by itself, by a limit, by its caller, and what follows from each. */
#ifndef SUPERVISE_ENDING_H
#define SUPERVISE_ENDING_H

#include "base/error.h"
#include "runtime/supervise/state.h"

/* Makes the escalation timer. */
must_check int ending_init(struct supervisor *s, struct error *err);
/* Takes what init has told so far. */
must_check int ending_read_events(struct supervisor *s, struct error *err);
/* Ends the tree because of `cause`; limit and actual in ms, bytes or a count. A command that had already ended keeps
 * its own end. */
must_check int ending_begin(struct supervisor *s, enum end_cause cause, double limit, double actual, struct error *err);
/* The same for what could not be held. */
must_check int ending_fail(struct supervisor *s, const struct error *why, struct error *err);
/* init and with it the tree is dead: reap, take what is left of the output, settle. */
must_check int ending_tree_dead(struct supervisor *s, struct error *err);
/* An output has been passed on wholly. */
must_check int ending_output_finished(struct supervisor *s, struct error *err);

#endif
