/* Copying the content of one regular file between two descriptors: sharing the blocks where the file system can. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdint.h>

#include "base/error.h"

enum copy_way {
	COPY_REFLINK = 1, /* both files share the blocks (FICLONE) */
	COPY_RANGE = 2,   /* the kernel copies (copy_file_range) */
	COPY_PLAIN = 4,   /* read and write */
	COPY_SEEK = 8,    /* ask where the holes are, before either of the last two */
};
#define COPY_ALL_WAYS (COPY_REFLINK | COPY_RANGE | COPY_PLAIN | COPY_SEEK)

struct copy_budget {
	uint64_t bytes_max; /* of data (holes cost nothing) that may still be copied; what was copied is taken off */
	unsigned ways;      /* those that may be tried, in the order above; COPY_ALL_WAYS outside tests. COPY_REFLINK is
			     * taken away where the file system turns out not to know it: to be kept for the next file */
	/* Told after each piece how many bytes of data it had; -1 with err set ends the copy. NULL: nobody listens. */
	int (*tell)(void *ctx, uint64_t bytes, struct error *err);
	void *ctx;
};

/* Copies the whole content of source_fd (readable) to target_fd (writable, empty); the offsets of both move. A file
 * that grows is copied as long as it was at the beginning; one that shrinks, or whose length the kernel does not tell
 * (in /proc), is an error. Holes stay holes. Neither mode nor times nor names are touched, and what an error leaves in
 * the target is for the caller to remove. Returns 0, or -1 with ERROR_LIMIT (bytes_max), ERROR_CANCELLED (tell),
 * ERROR_LOCAL_FILE_READ (the source) or ERROR_IO (the target). */
must_check int copy_file(int source_fd, int target_fd, struct copy_budget *budget, struct error *err);

#endif
