/* Building a workspace from a manifest: all of it or nothing. */
#ifndef WORKSPACE_MATERIALIZE_H
#define WORKSPACE_MATERIALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/workspace/fingerprint.h"
#include "runtime/workspace/manifest.h"
#include "runtime/workspace/runner.h"
#include "runtime/workspace/sources.h"
#include "runtime/workspace/work.h"

#define MATERIALIZE_JOBS_MAX 64

struct materialize_options {
	const struct sources *sources;
	const struct runner *runner; /* for what only a confined program may do; NULL: such entries are refused */
	unsigned jobs;               /* how many entries are built at a time; 0: as many as there are */
	bool ephemeral_only;         /* nothing but the ephemeral entries */
	bool dry_run;                /* look, and touch nothing */
	struct work *work;
};

enum receipt_action {
	RECEIPT_KEPT,     /* not touched: it is not ephemeral, and nothing else was asked for */
	RECEIPT_CREATED,  /* nothing was there */
	RECEIPT_REPLACED, /* a file by a file, or whatever an ephemeral entry found in its place */
	RECEIPT_MERGED,   /* a directory into one that was there */
	_RECEIPT_ACTION_COUNT
};

/* With which uid a program read what was hostile: started by root it has one of its own wherever that can be. */
enum receipt_reader {
	RECEIPT_NO_READER,
	RECEIPT_UNPRIVILEGED,
	RECEIPT_CALLER,
	_RECEIPT_READER_COUNT
};

/* What became of one entry, in the order of the manifest. */
struct receipt_row {
	enum receipt_action action;
	bool built; /* what follows is known: not for what was kept, nor in a dry run, but for contents that the manifest has */
	mode_t mode;
	struct fingerprint fingerprint;
	enum receipt_reader reader; /* of archive and git_repo */
};

struct receipt {
	struct receipt_row *rows; /* as many as entries */
	bool dry_run;
};

/* destination: a directory of the caller's, made where only its last part lacks. On failure it is as it was before, and
 * err names the entry. The receipt is freed with receipt_done. */
must_check int materialize(const struct manifest *manifest, const char *destination,
	const struct materialize_options *options, struct receipt *ret_receipt, struct error *err);
void receipt_done(struct receipt *receipt);

#endif
