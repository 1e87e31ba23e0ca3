/*
 * Judging a symlink by its text alone.
 *
 * Threat: counting ".." against names is not enough. In "x/l/../..", l may be a symlink to "..", and what looks like
 * the root is the directory above it. So ".." may only stand at the beginning: there it is taken from the directory
 * that holds the link, which is a real one, and so are all that are above it. Behind the first name there are only
 * names: a symlink among them leads inside by the same rule, and from where it leads, the rest goes on downward.
 */
#include "runtime/workspace/link_inside.h"

#include <stddef.h>
#include <string.h>

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

bool link_stays_inside(const char *path, const char *target)
{
	size_t left = depth_of(path);
	bool named = false;

	if (target[0] == '\0' || target[0] == '/')
		return false;
	while (*target != '\0') {
		size_t size = strcspn(target, "/");

		if (size == 2 && memcmp(target, "..", 2) == 0) {
			if (named || left-- == 0)
				return false;
		} else if (size > 0 && !(size == 1 && target[0] == '.')) {
			named = true;
		}
		target += size;
		target += strspn(target, "/");
	}
	return true;
}
