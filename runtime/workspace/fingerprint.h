/* Digests of what was built: of a file, and of a whole tree, the same for the same content wherever it lies. */
#ifndef WORKSPACE_FINGERPRINT_H
#define WORKSPACE_FINGERPRINT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/sha256.h"
#include "runtime/workspace/work.h"

struct fingerprint {
	uint64_t files; /* regular */
	uint64_t bytes; /* in them */
	char sha256[SHA256_HEX_SIZE];
};

/* Of the regular file dirfd/name. work: asked for a cancellation; nothing is counted. */
must_check int fingerprint_file(
	int dirfd, const char *name, struct work *work, struct fingerprint *ret_fingerprint, struct error *err);
/* Of the directory dirfd/name: the SHA-256 of a line for each thing below it, by the order of the paths' bytes within
 * each directory, a directory before what is in it (docs/manifest.md has the form of the lines). */
must_check int fingerprint_tree(
	int dirfd, const char *name, struct work *work, struct fingerprint *ret_fingerprint, struct error *err);

#endif
