/* A growable byte buffer, always NUL-terminated behind its length. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct buf {
	char *data; /* NULL while empty */
	size_t size;
	size_t allocated;
	bool failed; /* memory ran out; later appends do nothing; see buf_check */
};

#define cleanup_buf __attribute__((cleanup(buf_done)))

void buf_done(struct buf *buf);
void buf_reset(struct buf *buf); /* empties, keeps the memory */
void buf_append(struct buf *buf, const void *data, size_t size);
void buf_append_str(struct buf *buf, const char *s);
void buf_append_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) printf_like(2, 3);
must_check int buf_check(const struct buf *buf, struct error *err);
/* Hands the bytes to the caller, to be freed with free(); "" where nothing was appended; NULL when memory ran out. */
char *buf_steal(struct buf *buf);
/* "" where nothing was appended. */
const char *buf_str(const struct buf *buf);

#endif
