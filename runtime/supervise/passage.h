/* Which bytes of a stream are passed on under a cap, without splitting a character at it. */
#ifndef SUPERVISE_PASSAGE_H
#define SUPERVISE_PASSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct passage {
	uint64_t cap;    /* UINT64_MAX: everything */
	uint64_t passed; /* bytes given out by passage_take */
	char held[4];    /* the beginning of a character that may not fit below the cap */
	size_t n_held;
	bool closed; /* the cap has been met: nothing more passes */
};

/* Writes to `out`, of at least size + 4 bytes, what may be passed on after `data` came in; returns how much. */
size_t passage_take(struct passage *passage, const char *data, size_t size, char *out);
/* At the end of the stream: what was held back; as passage_take. */
size_t passage_end(struct passage *passage, char *out);

#endif
