/* The names in a repository's index that lead host-side git into other repositories. */
#ifndef PLAN_GIT_LINKS_H
#define PLAN_GIT_LINKS_H

#include <stddef.h>

#include "base/arena.h"

#define GIT_INDEX_MAX       (256u << 20)
#define GIT_LINKS_MAX       65536
#define GIT_LINKS_NAMES_MAX (4u << 20) /* together: each step of each is gone on the way to it */

struct git_links {
	const char **list; /* below the checkout, in plain steps down */
	size_t n;
	const char *wrong; /* not all could be found, and why, for people; else NULL */
};

/* directory_fd: the git directory. An index that does not exist has none. The strings are of the arena; where memory is
 * out, the arena remembers. Follows no link. */
struct git_links git_links_read(struct arena *arena, int directory_fd, int checkout_fd, size_t hash_size);
/* GIT_SHA256_SIZE where the configuration of the git directory says so, else GIT_SHA1_SIZE. */
size_t git_links_hash_size(int common_fd);

#endif
