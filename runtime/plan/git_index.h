/* git's index, read for the names that lead host-side git into other repositories. Pure. */
#ifndef PLAN_GIT_INDEX_H
#define PLAN_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GIT_SHA1_SIZE         20
#define GIT_SHA256_SIZE       32
#define GIT_INDEX_SHARED_SIZE (sizeof "sharedindex." + 2ul * GIT_SHA256_SIZE)

struct git_index {
	const void *data;
	size_t size;
	size_t hash_size; /* GIT_SHA1_SIZE or GIT_SHA256_SIZE */
	/* Told of each entry: its name, "" for one that takes the name from a shared index, and its mode. */
	void (*entry)(void *userdata, const char *name, uint32_t mode);
	void *userdata;
};

/* NULL, or what makes it none that git would write, as a literal: what git makes of it then nobody can tell. ret_shared
 * is the name of the shared index beside it that holds the rest of it, or "". */
const char *git_index_parse(const struct git_index *index, char ret_shared[GIT_INDEX_SHARED_SIZE]);

static inline bool git_mode_is_gitlink(uint32_t mode)
{
	return (mode & 0170000) == 0160000;
}

static inline bool git_mode_is_directory(uint32_t mode)
{
	return (mode & 0170000) == 0040000;
}

#endif
