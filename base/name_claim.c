/*
 * A claim is a read lock on one byte of the directory itself, at the place that the name's hash says. Nothing is left
 * anywhere, and it ends with the process. A lock for writing would need a directory that is open for writing, which
 * there is not: so nobody can keep others from claiming.
 *
 * Threat: whoever can read the directory can make a claim, a confined command too. So a claim is a hint at what another
 * run is doing, to wait for it for a moment; never a reason to change or remove anything, nor to fail.
 */
#include "base/name_claim.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static off_t place_of(const char *name)
{
	uint64_t h = 14695981039346656037ull; /* FNV-1a */

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ull;
	return (off_t)(h >> 2); /* the byte behind it is an offset, too */
}

static struct flock lock_of(const char *name, short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = place_of(name), .l_len = 1};
}

bool name_claim(int dirfd, const char *name)
{
	struct flock lock = lock_of(name, F_RDLCK);

	return fcntl(dirfd, F_OFD_SETLK, &lock) == 0;
}

bool name_is_claimed(int dirfd, const char *name)
{
	struct flock lock = lock_of(name, F_WRLCK);

	return fcntl(dirfd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
