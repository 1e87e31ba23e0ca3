/*
 * A byte buffer that grows by doubling and always carries a NUL behind its length, so that it can be read as a string
 * at any time. A failed allocation is remembered and turns later appends into nothing: text is built without a check
 * after each word and judged once, by buf_check or by buf_steal returning NULL. A buffer that failed keeps what it had,
 * but whoever asks for the result gets the failure, never the half.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATED_MIN 64

void buf_done(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}

void buf_reset(struct buf *buf)
{
	buf->size = 0;
	buf->failed = false;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

/* Makes room for `more` bytes and the NUL. */
static bool reserve(struct buf *buf, size_t more)
{
	size_t allocated = buf->allocated > 0 ? buf->allocated : ALLOCATED_MIN;
	size_t wanted;
	char *data;

	if (buf->failed || __builtin_add_overflow(buf->size, more, &wanted) || wanted >= SIZE_MAX / 2) {
		buf->failed = true;
		return false;
	}
	while (allocated <= wanted)
		allocated *= 2;
	if (allocated == buf->allocated)
		return true;
	data = realloc(buf->data, allocated);
	if (data == NULL) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->allocated = allocated;
	return true;
}

void buf_append(struct buf *buf, const void *data, size_t size)
{
	if (size == 0 || !reserve(buf, size))
		return;
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = '\0';
}

void buf_append_str(struct buf *buf, const char *s)
{
	buf_append(buf, s, strlen(s));
}

void buf_append_char(struct buf *buf, char c)
{
	buf_append(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0)
		buf->failed = true;
	if (length <= 0 || !reserve(buf, (size_t)length))
		return;
	va_start(args, fmt);
	(void)vsnprintf(buf->data + buf->size, (size_t)length + 1, fmt, args);
	va_end(args);
	buf->size += (size_t)length;
}

int buf_check(const struct buf *buf, struct error *err)
{
	return buf->failed ? error_no_memory(err) : 0;
}

char *buf_steal(struct buf *buf)
{
	char *data = buf->failed ? NULL : buf->data;

	if (data == NULL && !buf->failed)
		data = calloc(1, 1);
	if (data == buf->data)
		buf->data = NULL;
	buf_done(buf);
	return data;
}

const char *buf_str(const struct buf *buf)
{
	return buf->data != NULL ? buf->data : "";
}
