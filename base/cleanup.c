/*
 * The two destructors that nearly every function uses.
 *
 * They run on the way out of a scope, often just after a system call has failed, so they must leave errno as that call
 * left it: the caller turns it into an error afterwards. Pointers are moved with memcpy because the slot may be of any
 * pointer type, and reading it through a `void *` lvalue would be left to the mercy of the aliasing rules.
 */
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cleanup_close_fd(int *fd)
{
	int saved_errno = errno;

	if (*fd >= 0)
		(void)close(*fd); /* Linux frees the number whatever close says; retrying would close a stranger's */
	*fd = -1;
	errno = saved_errno;
}

void cleanup_free_ptr(void *pp)
{
	int saved_errno = errno;
	void *taken;

	memcpy(&taken, pp, sizeof taken);
	free(taken);
	taken = NULL;
	memcpy(pp, &taken, sizeof taken);
	errno = saved_errno;
}
