/* The events of a run as JSON texts for the caller's hook; nothing is made where there is no hook. */
#ifndef SUPERVISE_EVENTS_H
#define SUPERVISE_EVENTS_H

#include <stddef.h>

#include "base/error.h"
#include "runtime/supervise/state.h"

must_check int event_started(struct supervisor *s, struct error *err);
must_check int event_output(struct supervisor *s, int stream, const char *data, size_t size, struct error *err);
must_check int event_sample(struct supervisor *s, struct error *err);
/* Where the cause of the end is a limit. */
must_check int event_limit(struct supervisor *s, struct error *err);
must_check int event_violation(struct supervisor *s, const struct outcome_violation *violation, struct error *err);
/* The outcome has been settled. */
must_check int event_exited(struct supervisor *s, struct error *err);
/* The limit that a cause stands for, NULL where it stands for none. */
const char *end_cause_limit_name(enum end_cause cause);

#endif
