/*
 * Head and tail of a stream.
 *
 * Stream position p lives at slot p while p < head_max; behind that the slots are a ring, so position p is at
 * head_max + (p - head_max) % ring size. Until the cap is reached the two are the same and the buffer is the stream.
 * The buffer grows by doubling, so that a command that says little costs little.
 *
 * A cut may not split a UTF-8 character. The head gives up at most three bytes for that, and the tail may use what the
 * head gave up: hence the ring is three bytes longer than its share, and a cap of 4 still keeps one character of three
 * bytes. Bytes that are no UTF-8 at all are cut like any others; the reader of the result sees base64 then.
 */
#include "runtime/supervise/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define CHARACTER_REST 3 /* of the longest character, one byte less */
#define FIRST_SIZE     4096

void keep_init(struct keep *keep, uint64_t cap)
{
	*keep = (struct keep){.head_max = cap - cap / 2, .tail_max = cap / 2};
	if (cap == UINT64_MAX)
		*keep = (struct keep){.head_max = UINT64_MAX};
}

void keep_done(struct keep *keep)
{
	free(keep->data);
	*keep = (struct keep){0};
}

static uint64_t ring_size(const struct keep *keep)
{
	return keep->tail_max + CHARACTER_REST;
}

static uint64_t slot_of(const struct keep *keep, uint64_t position)
{
	if (position < keep->head_max)
		return position;
	return keep->head_max + (position - keep->head_max) % ring_size(keep);
}

/* How many bytes can be stored from `slot` on without a jump. */
static uint64_t contiguous(const struct keep *keep, uint64_t slot)
{
	if (slot < keep->head_max)
		return keep->head_max - slot;
	return keep->head_max + ring_size(keep) - slot;
}

static int reserve(struct keep *keep, uint64_t size, struct error *err)
{
	size_t wanted = keep->allocated == 0 ? FIRST_SIZE : keep->allocated;
	char *data;

	if (size <= keep->allocated)
		return 0;
	while (wanted < size && wanted <= SIZE_MAX / 2)
		wanted *= 2;
	if (keep->head_max != UINT64_MAX && wanted > keep->head_max + ring_size(keep))
		wanted = (size_t)(keep->head_max + ring_size(keep));
	data = realloc(keep->data, wanted);
	if (data == NULL)
		return error_no_memory(err);
	keep->data = data;
	keep->allocated = wanted;
	return 0;
}

int keep_add(struct keep *keep, const void *data, size_t size, struct error *err)
{
	const char *next = data;

	if (keep->head_max == 0) {
		keep->total += size;
		return 0;
	}
	while (size > 0) {
		uint64_t slot = slot_of(keep, keep->total);
		uint64_t room = contiguous(keep, slot);
		size_t n = room < size ? (size_t)room : size;

		if (reserve(keep, slot + n, err) < 0)
			return -1;
		memcpy(keep->data + slot, next, n);
		keep->total += n;
		next += n;
		size -= n;
	}
	return 0;
}

static void copy_out(const struct keep *keep, uint64_t position, char *out, size_t size)
{
	while (size > 0) {
		uint64_t slot = slot_of(keep, position);
		uint64_t room = contiguous(keep, slot);
		size_t n = room < size ? (size_t)room : size;

		memcpy(out, keep->data + slot, n);
		position += n;
		out += n;
		size -= n;
	}
}

static int finish_cut(const struct keep *keep, struct arena *arena, struct outcome_stream *ret_stream, struct error *err)
{
	size_t head = str_utf8_floor(keep->data, (size_t)keep->head_max);
	uint64_t wanted = keep->tail_max + (keep->head_max - head);
	size_t tail = (size_t)wanted, skipped;
	char *data = arena_alloc(arena, head + tail + 1);

	if (data == NULL)
		return error_no_memory(err);
	memcpy(data, keep->data, head);
	copy_out(keep, keep->total - tail, data + head, tail);
	skipped = str_utf8_ceil(data + head, tail);
	memmove(data + head, data + head + skipped, tail - skipped);
	tail -= skipped;
	ret_stream->data = data;
	ret_stream->kept = head + tail;
	ret_stream->omitted_at = head;
	ret_stream->omitted_bytes = keep->total - head - tail;
	return 0;
}

static int finish_whole(const struct keep *keep, struct arena *arena, struct outcome_stream *ret_stream, struct error *err)
{
	char *data = arena_alloc(arena, (size_t)keep->total + 1);

	if (data == NULL)
		return error_no_memory(err);
	if (keep->total > 0)
		memcpy(data, keep->data, (size_t)keep->total);
	ret_stream->data = data;
	ret_stream->kept = (size_t)keep->total;
	return 0;
}

int keep_finish(const struct keep *keep, struct arena *arena, struct outcome_stream *ret_stream, struct error *err)
{
	struct outcome_stream stream = {.captured = true, .bytes = keep->total};
	bool whole = keep->head_max == UINT64_MAX || keep->total <= keep->head_max + keep->tail_max;

	if (keep->head_max == 0)
		stream.omitted_bytes = keep->total;
	else if ((whole ? finish_whole : finish_cut)(keep, arena, &stream, err) < 0)
		return -1;
	*ret_stream = stream;
	return 0;
}
