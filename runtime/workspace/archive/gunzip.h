/* gzip, unpacked and checked: the reader of libarchive does not look at the checksums. */
#ifndef WORKSPACE_ARCHIVE_GUNZIP_H
#define WORKSPACE_ARCHIVE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct gunzip;

/* read: as read(2) does, of the packed bytes. */
must_check int gunzip_new(ssize_t (*read)(void *context, void *data, size_t size), void *context,
	struct gunzip **ret_gunzip, struct error *err);
struct gunzip *gunzip_free(struct gunzip *gunzip);
CLEANUP_DEFINE(struct gunzip, gunzip_free)

/* At most `size` bytes; 0 at the end; -1 where it is damaged or cut short, with a word for it. */
ssize_t gunzip_read(struct gunzip *gunzip, void *data, size_t size, const char **ret_word);

#endif
