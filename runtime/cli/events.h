/* --events: what happens in a run as JSON lines, to a file or to a descriptor of the caller's. */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H

#include <poll.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "runtime/cli/settings.h"

struct events {
	int fd; /* -1: nobody wants any */
	bool owned;
	struct buf pending;
	size_t sent;      /* of pending */
	const char *lost; /* why the rest is dropped, NULL while it is not */
};
#define EVENTS_INIT      \
	{                \
		.fd = -1 \
	}
#define cleanup_events __attribute__((cleanup(cli_events_done)))

/* No-op without --events. */
must_check int cli_events_open(struct events *events, const struct settings *settings, struct error *err);
/* A pinfold_event_fn; userdata: struct events. */
void cli_events_add(void *userdata, const char *json);
/* What to poll for; fd -1 where nothing waits. */
struct pollfd cli_events_poll(const struct events *events);
/* Writes what can be written without waiting. */
void cli_events_pump(struct events *events);
/* Waits a bounded time for the reader to take the rest. Then events->lost tells whether it did. */
void cli_events_finish(struct events *events);
void cli_events_done(struct events *events);

#endif
