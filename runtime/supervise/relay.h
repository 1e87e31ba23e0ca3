/* The caller's descriptor as a consumer of output that may be slow, full or gone. */
#ifndef SUPERVISE_RELAY_H
#define SUPERVISE_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"

#define RELAY_PENDING_MAX (65536 + 8)

struct relay {
	struct loop *loop;
	struct loop_source source;
	int fd;        /* our own: opened again without blocking where that is possible, else a duplicate */
	bool pollable; /* false: a file; written at once */
	bool blocking; /* the file description blocks and is shared: small writes, each after a POLLOUT */
	bool gone;     /* the reader closed, or writing failed */
	int sys_errno; /* why, where gone: EPIPE or another */
	char *pending; /* what the consumer did not take yet */
	size_t n_pending, offset;
	int (*drained)(void *userdata, struct error *err); /* the pending bytes have gone, or will never go */
	void *userdata;
};

/* `fd` is borrowed and its flags stay as they are. A reader that has gone already is no error. relay_done on a zeroed
 * relay with fd -1 is allowed. */
must_check int relay_open(struct relay *relay, struct loop *loop, int fd,
	int (*drained)(void *userdata, struct error *err), void *userdata, struct error *err);
void relay_close(struct relay *relay);
/* Takes all of data (at most RELAY_PENDING_MAX), writing what the consumer takes at once. Only while nothing is
 * pending. Where the consumer has gone the data are dropped and relay->gone is set. */
must_check int relay_write(struct relay *relay, const void *data, size_t size, struct error *err);
bool relay_is_clogged(const struct relay *relay);

#endif
