/* Finding the own cgroup v2 directory in texts as kernels write them. */
#include <criterion/criterion.h>
#include <string.h>

#include "cgroup/location.h"
#include "tests/unit/harness.h"

TestSuite(location, .fini = harness_leak_check);

#define HYBRID_CGROUP                        \
	"9:name=systemd:/\n"                 \
	"8:pids:/\n"                         \
	"4:memory:/jobs/447eac22b700de491\n" \
	"1:cpu:/0::/trap\n"                  \
	"0::/a b/c\n"
#define HYBRID_MOUNTS                                                                \
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"                    \
	"30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"        \
	"34 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n" \
	"40 30 0:37 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"

struct location_case {
	const char *name, *cgroup, *mountinfo;
	const char *paths[3];
};

static const struct location_case cases[] = {
	{"hybrid", HYBRID_CGROUP, HYBRID_MOUNTS, {"/sys/fs/cgroup/unified/a b/c"}},
	{"pure v2", "0::/user.slice/x.scope\n", "26 22 0:23 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
		{"/sys/fs/cgroup/user.slice/x.scope"}},
	{"root of the hierarchy", "0::/\n", HYBRID_MOUNTS, {"/sys/fs/cgroup/unified"}},
	{"pure v1", "4:memory:/x\n1:cpu:/\n", HYBRID_MOUNTS, {NULL}},
	{"no cgroup2 mount", "0::/\n", "34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", {NULL}},
	{"only a part is mounted", "0::/docker/ab/x\n", "26 22 0:23 /docker/ab /sys/fs/cgroup rw - cgroup2 none rw\n",
		{"/sys/fs/cgroup/x"}},
	{"exactly that part", "0::/docker/ab\n", "26 22 0:23 /docker/ab /sys/fs/cgroup rw - cgroup2 none rw\n",
		{"/sys/fs/cgroup"}},
	{"another part is mounted", "0::/docker/abc\n", "26 22 0:23 /docker/ab /sys/fs/cgroup rw - cgroup2 none rw\n",
		{NULL}},
	{"several mounts", "0::/x\n",
		"26 22 0:23 / /one rw - cgroup2 none rw\n27 22 0:23 /y /two rw - cgroup2 none rw\n"
		"28 22 0:23 /x /three rw - cgroup2 none rw\n",
		{"/one/x", "/three"}},
	{"outside the cgroup namespace", "0::/../other\n", "26 22 0:23 / /sys/fs/cgroup rw - cgroup2 none rw\n", {NULL}},
	{"a name that only looks like climbing", "0::/..x/y..\n", "26 22 0:23 / /c rw - cgroup2 none rw\n",
		{"/c/..x/y.."}},
	{"mounted outside the namespace's root", "0::/../a\n", "26 22 0:23 /../a /c rw - cgroup2 none rw\n", {"/c"}},
	{"escaped characters", "0::/x\n", "26 22 0:23 / /a\\040b\\134c\\011d rw - cgroup2 none rw\n", {"/a b\\c\td/x"}},
	{"broken escape", "0::/x\n", "26 22 0:23 / /a\\04 rw - cgroup2 none rw\n", {"/a\\04/x"}},
	{"mounted at the root", "0::/x\n", "26 22 0:23 / / rw - cgroup2 none rw\n", {"/x"}},
	{"the root itself at the root", "0::/\n", "26 22 0:23 / / rw - cgroup2 none rw\n", {"/"}},
	{"cgroup2 as a source of something else", "0::/x\n", "26 22 0:23 / /a rw - tmpfs cgroup2 rw\n", {NULL}},
	{"a cut line", "0::/x\n", "26 22 0:23 / /a rw", {NULL}},
	{"empty", "", "", {NULL}},
};

Test(location, candidates)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct location_case *c = &cases[i];
		char path[256];
		size_t n = 0;

		for (; c->paths[n] != NULL; n++) {
			cr_expect(location_candidate(c->cgroup, c->mountinfo, n, path, sizeof path), "%s: nothing",
				c->name);
			cr_expect_str_eq(path, c->paths[n], "%s: %s", c->name, path);
		}
		cr_expect_not(location_candidate(c->cgroup, c->mountinfo, n, path, sizeof path), "%s: %s", c->name, path);
	}
}

Test(location, what_does_not_fit_is_refused)
{
	char path[8];

	cr_expect_not(location_candidate("0::/abcdefg\n", "26 22 0:23 / /c rw - cgroup2 none rw\n", 0, path, 8));
	cr_expect(location_candidate("0::/abcd\n", "26 22 0:23 / /c rw - cgroup2 none rw\n", 0, path, 8));
	cr_expect_str_eq(path, "/c/abcd");
}
