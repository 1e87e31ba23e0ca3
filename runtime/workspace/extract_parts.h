/* Between extract.c and its parts, one file each. */
#ifndef WORKSPACE_EXTRACT_PARTS_H
#define WORKSPACE_EXTRACT_PARTS_H

#include "base/cleanup.h"
#include "runtime/workspace/extract.h"
#include "runtime/workspace/private_dir.h"

/* --- extract_staging.c: a private directory with a copy of the archive and the tree that is made of it --- */
struct staging {
	int parent_fd;                    /* borrowed */
	char name[PRIVATE_DIR_NAME_SIZE]; /* in it; "": none yet */
	int fd;                           /* of the private directory, which only its owner enters */
	int archive_fd;                   /* the copy, readable */
	int tree_fd;
};
#define STAGING_TREE      "tree"
#define STAGING_TREE_MODE 0755 /* and that of the destination */
#define STAGING_INIT                                                       \
	{                                                                  \
		.parent_fd = -1, .fd = -1, .archive_fd = -1, .tree_fd = -1 \
	}
#define cleanup_staging __attribute__((cleanup(staging_remove)))

/* Copies at most options->input_max bytes. */
must_check int staging_make(struct staging *staging, int parent_fd, int archive_fd,
	const struct extract_options *options, uint64_t *ret_input_bytes, struct error *err);
void staging_remove(struct staging *staging);

/* --- extract_talk.c: what the helper says, line by line --- */
struct talk {
	const struct extract_options *options;
	char line[4096];
	size_t n_line;
	size_t n_lines;
	bool introduced, done, failed;
	uint64_t told_members, told_bytes;
	struct extract_totals totals; /* of `done` */
	struct error error;           /* of `failed` */
};
/* A runner's output function; context: a struct talk. */
int talk_hear(void *context, int stream, const void *data, size_t size, struct error *err);

/* --- extract_check.c: what the helper has left, against what it said and what is allowed --- */
must_check int extract_check(
	int tree_fd, const struct extract_options *options, const struct extract_totals *said, struct error *err);

/* --- extract_merge.c --- */
/* Moves what is in tree_fd into target_fd; all of it or nothing. What was replaced is in the tree then. */
must_check int extract_merge(int tree_fd, int target_fd, struct work *work, uint64_t *ret_replaced, struct error *err);

#endif
