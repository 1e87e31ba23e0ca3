/* What `git ls-remote` prints, and which of it is meant by a ref. */
#ifndef WORKSPACE_GIT_REFS_H
#define WORKSPACE_GIT_REFS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define GIT_ID_MAX 64

enum git_want {
	GIT_WANT_NOTHING,     /* no ref is called that */
	GIT_WANT_ID_IN_FULL,  /* a whole id that no ref has: it may be asked for */
	GIT_WANT_ID_IN_PART,  /* the beginning of an id that no ref has: all has to be fetched to find it */
	GIT_WANT_REF,         /* `name` */
	GIT_WANT_ID_OF_A_REF, /* `id` begins so */
};

struct git_refs {
	const char *asked; /* NULL: HEAD */
	enum git_want want;
	char name[300];
	char id[GIT_ID_MAX + 1];
	size_t id_length; /* of the repository's ids; 0: it has none yet */
	/* insides */
	int rank;
	bool ambiguous;
	char line[1024];
	size_t line_size, total;
};

void git_refs_begin(struct git_refs *refs, const char *asked);
/* To be given all that ls-remote prints, in pieces of any size. */
must_check int git_refs_hear(void *refs, const void *data, size_t size, struct error *err);
/* Afterwards: fills want, and name or id. -1 with ERROR_GIT_CLONE where nothing is meant, or more than one thing. */
must_check int git_refs_end(struct git_refs *refs, struct error *err);

#endif
