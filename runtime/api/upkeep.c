/* What dead runs leave behind is cgroup directories, and nothing else: mounts, processes and files die with the namespaces. */
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "cgroup/place.h"
#include "runtime/api/objects.h"

int pinfold_gc(size_t *ret_removed, pinfold_error **err)
{
	struct error error = {0};
	char base[4096];

	*ret_removed = 0;
	if (group_base_find(base, sizeof base, &error) < 0 ||
		(base[0] != '\0' && (group_sweep(base, ret_removed, &error) < 0 || place_recover(base, &error) < 0)))
		return api_fail(err, "gc", &error, NULL);
	return 0;
}
