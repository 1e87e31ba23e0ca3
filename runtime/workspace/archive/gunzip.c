/*
 * zlib does the work and compares length and checksum at the end of each member. Members may follow one another, and
 * zeros may follow the last one, as on tapes; anything else there is damage.
 */
#include "runtime/workspace/archive/gunzip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PACKED_BYTES (128u << 10)
#define GZIP_ALONE   (16 + MAX_WBITS)

struct gunzip {
	ssize_t (*read)(void *context, void *data, size_t size);
	void *context;
	z_stream stream;
	bool ready;   /* the stream is to be ended */
	bool between; /* behind a member */
	unsigned char packed[PACKED_BYTES];
};

struct gunzip *gunzip_free(struct gunzip *gunzip)
{
	if (gunzip == NULL)
		return NULL;
	if (gunzip->ready)
		(void)inflateEnd(&gunzip->stream);
	free(gunzip);
	return NULL;
}

int gunzip_new(ssize_t (*read)(void *context, void *data, size_t size), void *context, struct gunzip **ret_gunzip,
	struct error *err)
{
	cleanup_with(gunzip_freep) struct gunzip *gunzip = calloc(1, sizeof *gunzip);

	if (gunzip == NULL || inflateInit2(&gunzip->stream, GZIP_ALONE) != Z_OK)
		return error_no_memory(err);
	gunzip->ready = true;
	gunzip->read = read;
	gunzip->context = context;
	*ret_gunzip = steal_ptr(&gunzip);
	return 0;
}

/* 1 where there is something to unpack, 0 at the end of the file, -1 where it cannot be read. */
static int fill(struct gunzip *gunzip)
{
	ssize_t n;

	if (gunzip->stream.avail_in > 0)
		return 1;
	n = gunzip->read(gunzip->context, gunzip->packed, sizeof gunzip->packed);
	if (n <= 0)
		return (int)n;
	gunzip->stream.next_in = gunzip->packed;
	gunzip->stream.avail_in = (uInt)n;
	return 1;
}

/* Behind a member: zeros are skipped, and a new member begins with anything else. */
static void begin_member(struct gunzip *gunzip)
{
	while (gunzip->stream.avail_in > 0 && *gunzip->stream.next_in == 0) {
		gunzip->stream.next_in++;
		gunzip->stream.avail_in--;
	}
	if (gunzip->stream.avail_in == 0)
		return;
	gunzip->between = false;
	(void)inflateReset(&gunzip->stream); /* fails for no stream that was initialized */
}

ssize_t gunzip_read(struct gunzip *gunzip, void *data, size_t size, const char **ret_word)
{
	uInt room = size < INT_MAX ? (uInt)size : INT_MAX;

	gunzip->stream.next_out = data;
	gunzip->stream.avail_out = room;
	while (gunzip->stream.avail_out == room) {
		int r = fill(gunzip);

		*ret_word = r < 0 ? "it cannot be read" : "truncated gzip input";
		if (r <= 0)
			return r == 0 && gunzip->between ? 0 : -1;
		if (gunzip->between)
			begin_member(gunzip);
		if (gunzip->between)
			continue;
		r = inflate(&gunzip->stream, Z_NO_FLUSH);
		if (r == Z_STREAM_END)
			gunzip->between = true;
		else if (r != Z_OK && r != Z_BUF_ERROR) {
			*ret_word = gunzip->stream.msg != NULL ? gunzip->stream.msg : "damaged gzip input";
			return -1;
		}
	}
	return (ssize_t)(room - gunzip->stream.avail_out);
}
