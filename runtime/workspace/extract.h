/*
 * Extracting an archive that nobody trusts: the reading is done by pinfold-archive inside a boundary, and what it
 * leaves is looked at before anything of it has its name.
 */
#ifndef WORKSPACE_EXTRACT_H
#define WORKSPACE_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/workspace/runner.h"
#include "runtime/workspace/work.h"

#define EXTRACT_NO_LIMIT UINT64_MAX

struct extract_options {
	uint64_t input_max;     /* bytes of the archive itself */
	uint64_t extracted_max; /* bytes of all files, as they come out */
	uint64_t members_max;
	uint64_t ratio_max; /* of bytes out to bytes in */
	uint64_t timeout_ns;
	unsigned strip_components; /* parts of each name that are taken away */
	bool links_inside;         /* symbolic links that stay inside are made */
	bool portable;             /* names that differ in case alone are refused */
	struct work *work;         /* told of members and bytes as they are written; NULL: none */
};
#define EXTRACT_OPTIONS_DEFAULT                                                                            \
	{                                                                                                  \
		.input_max = (uint64_t)1 << 30, .extracted_max = (uint64_t)4 << 30, .members_max = 100000, \
		.ratio_max = 200, .timeout_ns = 600000000000u,                                             \
	}

struct extract_totals {
	uint64_t input_bytes;
	uint64_t members; /* that the archive has */
	uint64_t files, directories, links, bytes;
	uint64_t skipped;  /* members of whose names nothing was left */
	uint64_t replaced; /* files of the destination that were there before */
	char format[16], compression[16];
	bool as_caller; /* the reader had the caller's uid: always an ordinary user's, root's where it cannot be otherwise */
};

/* Both: archive_fd is borrowed, and is read from where it stands; a pipe will do. Errors: ERROR_CANCELLED;
 * extract_error_is_refusal() for what the archive (or an existing destination) is guilty of; else pinfold's own. The
 * destination is as before then, and nothing else is left. ret_totals on success. */

/* Makes the new directory `name` in parent_dirfd. */
must_check int extract_into(const struct runner *runner, int archive_fd, int parent_dirfd, const char *name,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err);
/* Merges into an existing directory: files replace files, and nothing else is replaced. */
must_check int extract_over(const struct runner *runner, int archive_fd, int dirfd,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err);
/* Either of them: a directory that is there is merged into, else its last part is made. A symlink at the end is refused. */
must_check int extract_to_path(const struct runner *runner, int archive_fd, const char *destination,
	const struct extract_options *options, struct extract_totals *ret_totals, struct error *err);

bool extract_error_is_refusal(const struct error *err);

#endif
