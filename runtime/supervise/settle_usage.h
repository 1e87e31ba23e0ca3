/* What a run used. Private to supervise. */
#ifndef SUPERVISE_SETTLE_USAGE_H
#define SUPERVISE_SETTLE_USAGE_H

#include "base/error.h"
#include "runtime/supervise/state.h"

/* Fills the figures of the outcome from the group's, init's and the samples. */
must_check int settle_usage(struct supervisor *s, struct error *err);
/* Notes that the figure of this name was sampled. */
must_check int settle_mark_sampled(struct outcome *outcome, const char *name, struct error *err);

#endif
