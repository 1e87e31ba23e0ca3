/* Removing what a hostile tree has planted, while it goes on moving things. */
#ifndef BASE_REMOVAL_H
#define BASE_REMOVAL_H

#include <stddef.h>

#define REMOVAL_PREFIX    ".pinfold-removed-"
#define REMOVAL_NAME_SIZE (sizeof REMOVAL_PREFIX + 16) /* 16 hexadecimal digits follow */

enum removal_taken {
	REMOVAL_GONE, /* it was no directory, or an empty one, and is removed; or it was not there */
	REMOVAL_ASIDE /* it has another name in the same directory now */
};

/* Frees `name` in dirfd, in a bounded time, whatever is there and however deep; follows no link. A directory that is
 * not empty goes to a random name of the same directory, ret_name, which nothing looks for. Returns a removal_taken, or
 * -1 with errno: it is still there. */
int removal_take_away(int dirfd, const char *name, char ret_name[REMOVAL_NAME_SIZE]);

/* The same for what must not be lost: nothing is removed, whatever it is. 0 with its new name, or -1 with errno. */
int removal_set_aside(int dirfd, const char *name, char ret_name[REMOVAL_NAME_SIZE]);

enum removal_result {
	REMOVAL_DONE,       /* it is gone */
	REMOVAL_UNFINISHED, /* the budget was used up: go on */
	REMOVAL_STUCK /* something in it cannot be removed: it is of others, or a mount, or it was moved just now */
};

/* Deletes what was set aside, with all that is in it as far as it may; crosses no mount and follows no link. Holds five
 * descriptors at most. *budget entries are handled at most; what is left of it stays there. */
enum removal_result removal_delete(int dirfd, const char *name, size_t *budget);

/* The same for a directory that is open, `top`, and had this name in dirfd: whatever has been given the name since
 * keeps what is in it. */
enum removal_result removal_delete_opened(int dirfd, const char *name, int top, size_t *budget);

/* Gives the owner of the directory all rights on it, as far as this process may. 0, or -1 with errno. */
int removal_make_accessible(int dirfd);

#endif
