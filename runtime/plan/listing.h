/* What directories hold, read once each: to look for many names of which most are not there. Internal to runtime/plan. */
#ifndef PLAN_LISTING_H
#define PLAN_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum listing_answer {
	LISTING_UNSURE,  /* it has to be asked for by name */
	LISTING_ABSENT,  /* nothing has this name, or a directory above it is missing */
	LISTING_PRESENT, /* it is there, and no symbolic link leads to it */
};

struct listing;
struct listings {
	struct arena *arena;
	int slash_fd;          /* the root directory when it was needed, else -1 */
	struct listing *first; /* the one that was added last */
};

/* Closes what the reading opened; the answers stay. */
void listings_done(struct listings *listings);
/* A directory of which very many names are going to be asked for, read at once. NULL where memory is out. */
const struct listing *listings_read(struct listings *listings, const char *directory);
/* Whether the first part of a relative path may be in the directory: a quick answer, of which false is certain. */
bool listing_may_hold(const struct listing *listing, const char *relative);
/* path: absolute, without "//", "." and "..". */
enum listing_answer listings_ask(struct listings *listings, const char *path);

#endif
