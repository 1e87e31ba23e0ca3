/* Directory trees by descriptor: visiting, counting and removing, without recursion and without following a link. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

struct tree_budget {
	uint64_t entries_max; /* that may still be looked at; those that were are taken off */
	size_t depth_max;     /* levels below the root; 0: no limit */
};

/* All of it is valid only during the call. */
struct tree_entry {
	int dirfd;                 /* the directory that it is in */
	const char *name;          /* there */
	const char *path;          /* from the root of the walk: "a/b" */
	const struct stat *status; /* of the entry itself, never of what a link points to */
};

enum tree_visit {
	TREE_GO_ON,    /* into it, where it is a directory */
	TREE_PASS_OVER /* not into it */
};

struct tree_visitor {
	/* Each entry, the directories before what is in them, by the order of the names' bytes. A tree_visit, or -1
	 * with err set, which ends the walk. */
	int (*visit)(void *ctx, const struct tree_entry *entry, struct error *err);
	/* After what is in a directory that was gone into. 0, or -1 with err set. May be NULL. */
	int (*leave)(void *ctx, struct error *err);
	bool strict; /* an entry that vanishes before it was looked at is an error; else it is left out */
	void *ctx;
};

/* Visits what is below dirfd (borrowed), mounts included; one descriptor is open at a time. Fails
 * with ERROR_LIMIT for the budget, ERROR_LOCAL_DIR_READ for what cannot be
 * read or was moved meanwhile, naming it. */
must_check int tree_walk(int dirfd, struct tree_budget *budget, const struct tree_visitor *visitor, struct error *err);

struct tree_totals {
	uint64_t files; /* regular */
	uint64_t directories;
	uint64_t others;
	uint64_t bytes; /* the lengths of the regular files */
};
must_check int tree_count(int dirfd, struct tree_budget *budget, struct tree_totals *ret_totals, struct error *err);

/* Removes whatever has this name in dirfd, with all that is in it; nothing there is no error. Crosses no mount, follows
 * no link, and gives itself the rights on its own directories where they lack. -1 with ERROR_IO: some of it is left. */
must_check int tree_remove(int dirfd, const char *name, struct error *err);
/* The same for a directory that is open, fd, and had this name: what has got the name since then is left alone. */
must_check int tree_remove_opened(int dirfd, const char *name, int fd, struct error *err);

#endif
