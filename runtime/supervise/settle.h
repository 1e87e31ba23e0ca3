/* The outcome of a run from what was seen of it. */
#ifndef SUPERVISE_SETTLE_H
#define SUPERVISE_SETTLE_H

#include "base/error.h"
#include "runtime/supervise/state.h"

/* Arena, run id and time of the start; before the launch. */
must_check int settle_init(struct supervisor *s, struct error *err);
/* Names the processes that do not die. */
must_check int settle_unkillable(struct supervisor *s, struct error *err);
/* Fills s->outcome and tells of it; nothing of it changes afterwards. */
must_check int settle(struct supervisor *s, struct error *err);

#endif
