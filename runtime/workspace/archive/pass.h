/* One pass over an archive: each member judged by the rules and the limits, and handed on where somebody writes. */
#ifndef WORKSPACE_ARCHIVE_PASS_H
#define WORKSPACE_ARCHIVE_PASS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "runtime/workspace/archive/rules.h"

#define PASS_NO_LIMIT     UINT64_MAX
#define PASS_RATIO_GRACE  ((uint64_t)64 << 20)
#define PASS_DIGEST_BYTES 32

struct pass_limits {
	uint64_t extracted_max; /* bytes of all files, holes counted */
	uint64_t members_max;   /* headers, and directories that they imply */
	uint64_t ratio_max;     /* of bytes out to bytes in, once PASS_RATIO_GRACE is out */
	unsigned strip;
	bool links;
	bool portable;
};

struct pass_totals {
	uint64_t members, files, directories, links, bytes;
	uint64_t skipped; /* nothing was left of their names */
	char format[16], compression[16];
	unsigned char digest[PASS_DIGEST_BYTES]; /* of all that was judged */
};

/* Who writes. Each returns 0, or -1 with err set. */
struct pass_sink {
	/* implied: directories above it that are new. A directory may come again, with another mode. */
	int (*directory)(void *context, const struct member_name *name, int implied, mode_t mode, struct error *err);
	int (*file)(void *context, const struct member_name *name, int implied, struct error *err);
	int (*data)(void *context, const void *data, size_t size, uint64_t offset, struct error *err);
	int (*file_end)(void *context, uint64_t size, mode_t mode, int64_t mtime, struct error *err);
	int (*link)(void *context, const struct member_name *name, int implied, const char *target, struct error *err);
	void (*progress)(void *context, uint64_t members, uint64_t bytes);
	void *context;
};

/* sink: NULL where it is only judged. */
must_check int pass_run(int fd, const struct pass_limits *limits, const struct pass_sink *sink,
	struct pass_totals *ret_totals, struct error *err);

#endif
