/* Telling other processes of this machine that a name below a directory is kept absent. */
#ifndef BASE_NAME_CLAIM_H
#define BASE_NAME_CLAIM_H

#include <stdbool.h>

/* dirfd is open for reading, not O_PATH. The claim lasts until the last copy of dirfd is closed, and anybody else may
 * make the same one. False where the file system cannot do it. */
bool name_claim(int dirfd, const char *name);
/* Whether it is claimed by way of another open file description than dirfd's. */
bool name_is_claimed(int dirfd, const char *name);

#endif
