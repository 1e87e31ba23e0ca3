/* What dead runs leave behind is cgroup directories, and nothing else: mounts, processes and files die with the namespaces. */
#include "cgroup/candidates.h"
#include "runtime/api/objects.h"

int pinfold_gc(size_t *ret_removed, pinfold_error **err)
{
	struct error error = {0};

	if (candidates_sweep(ret_removed, &error) < 0)
		return api_fail(err, "gc", &error, NULL);
	return 0;
}
