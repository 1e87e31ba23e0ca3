/*
 * Asks the kernel for filters by giving it none: with the support there, it fails to read the invalid pointer (EFAULT)
 * before it changes anything; without, it does not know the request.
 */
#include <errno.h>
#include <linux/seccomp.h>

#include "base/sys.h"
#include "seccomp/filter.h"

bool filter_probe(int *ret_errno)
{
	int result = sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, NULL);
	bool there = result < 0 && errno == EFAULT;

	if (!there)
		*ret_errno = result < 0 ? errno : EINVAL;
	return there;
}
