/* What a program that runs may have on the disk meanwhile: looked at from outside, whatever it says itself. */
#ifndef WORKSPACE_QUOTA_H
#define WORKSPACE_QUOTA_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct quota {
	int dirfd; /* borrowed: what it may write */
	uint64_t bytes_max, entries_max;
	size_t depth_max; /* 0: none */
	const char *what; /* for messages: "the archive's reader" */
};

/* A runner's watch function; quota: a struct quota. -1 with ERROR_LIMIT where there is more, with
 * ERROR_WORKSPACE_ARCHIVE_WRITE where something is hidden from the look. */
must_check int quota_watch(void *quota, struct error *err);

#endif
