/* What directories hold, read once each: to look for many names of which most are not there. Internal to runtime/plan. */
#ifndef PLAN_LISTING_H
#define PLAN_LISTING_H

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
	struct listing *list;
	size_t n;
};

/* path: absolute, without "//", "." and "..". */
enum listing_answer listings_ask(struct listings *listings, const char *path);

#endif
