/* Which symlinks of a tree lead nowhere but into it. */
#ifndef WORKSPACE_LINK_INSIDE_H
#define WORKSPACE_LINK_INSIDE_H

#include <stdbool.h>

/* path: of the symlink, from the root of the tree, of whole names. True where following `target` from there stays
 * inside, whatever other symlinks of which the same is true are on its way: relative, and ".." only at its beginning,
 * no more of them than directories lie above the link. */
bool link_stays_inside(const char *path, const char *target);

#endif
