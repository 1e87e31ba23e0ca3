/* Removing what a hostile tree has planted, while it goes on moving things. */
#ifndef SUPERVISE_REMOVAL_H
#define SUPERVISE_REMOVAL_H

#include <stddef.h>

enum removal_result {
	REMOVAL_DONE,      /* the name is gone */
	REMOVAL_UNFINISHED /* the budget was used up, or the tree was faster: try again */
};

/* Removes `name` in dirfd, whatever it is, with all that is below it. Follows no link and crosses no mount. At most
 * *budget names are removed; the rest is left in it. Returns a removal_result, or -1 with errno. */
int removal_remove(int dirfd, const char *name, size_t *budget);

/* Gives the owner of the directory all rights on it, as far as this process may. 0, or -1 with errno. */
int removal_make_accessible(int dirfd);

#endif
