/*
 * The cap of a stream that is passed on as it comes.
 *
 * Far below the cap bytes go through untouched. Only where a chunk ends within three bytes of the cap is the beginning
 * of an unfinished character held back, until it is known whether the whole of it fits.
 */
#include "runtime/supervise/passage.h"

#include <string.h>

#include "base/str.h"

static size_t hold_back(struct passage *passage, char *out, size_t size)
{
	size_t whole = str_utf8_floor(out, size);

	passage->n_held = size - whole;
	memcpy(passage->held, out + whole, passage->n_held);
	return whole;
}

size_t passage_take(struct passage *passage, const char *data, size_t size, char *out)
{
	uint64_t room = passage->cap - passage->passed;
	size_t n = passage->n_held;

	if (passage->closed || size == 0)
		return 0;
	memcpy(out, passage->held, n);
	passage->n_held = 0;
	if (n + size > room) {
		passage->closed = true;
		memcpy(out + n, data, (size_t)room - n);
		n = str_utf8_floor(out, (size_t)room);
	} else {
		memcpy(out + n, data, size);
		n += size;
		if (room - n < 3)
			n = hold_back(passage, out, n);
	}
	passage->passed += n;
	return n;
}

size_t passage_end(struct passage *passage, char *out)
{
	size_t n = passage->n_held;

	memcpy(out, passage->held, n);
	passage->passed += n;
	passage->n_held = 0;
	return n;
}
