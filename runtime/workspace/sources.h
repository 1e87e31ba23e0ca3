/* Where on the host a manifest may take from: the base directory, and what the caller granted beside it. */
#ifndef WORKSPACE_SOURCES_H
#define WORKSPACE_SOURCES_H

#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

struct sources;

must_check int sources_new(struct sources **ret_sources, struct error *err);
struct sources *sources_free(struct sources *sources);
CLEANUP_DEFINE(struct sources, sources_free)

/* Both are the caller's own words: links in them are followed, now and never again. "/", and what resolves to it, is
 * refused. ERROR_USAGE for what cannot be meant, ERROR_NOT_FOUND and the like for what is not there. */
must_check int sources_set_base(struct sources *sources, const char *directory, struct error *err);
/* path: absolute, of a directory or a file. */
must_check int sources_grant(struct sources *sources, const char *path, bool writable, struct error *err);
/* "PATH" or "PATH:ro". */
must_check int sources_grant_text(struct sources *sources, const char *text, struct error *err);

/* What may not be taken though it lies below the base or a grant, unless a longer one holds it. As sources_grant. */
must_check int sources_deny(struct sources *sources, const char *path, struct error *err);

struct source_place {
	int dirfd;           /* of the base or grant; borrowed from the sources */
	bool writable;       /* of the longest grant that holds the path; the base is not */
	bool holds_denied;   /* something below it may not be taken: a whole tree may not be */
	char path[PATH_MAX]; /* below dirfd, of whole names without ".."; "" is dirfd itself */
};

/* Where `path` of a manifest leads by its text: absolute, or relative to the base. Nothing is opened: symlinks on the
 * way are for whoever opens it below dirfd. -1 with `code` and the reason in the context:
 * outside_base_dir, denied. */
must_check int sources_find(const struct sources *sources, const char *path, enum error_code code,
	struct source_place *ret_place, struct error *err);
/* Opens the directory at `path`, of which all may be taken, in the same way. */
must_check int sources_open_directory(
	const struct sources *sources, const char *path, enum error_code code, struct error *err);
/* Opens the regular file at `path` for reading, following nothing; what is none is not opened. Returns the fd, or -1
 * with `code` and the reason in the context: outside_base_dir, symlink_not_supported, special_file. */
must_check int sources_open_file(
	const struct sources *sources, const char *path, enum error_code code, struct error *err);

#endif
