/* The question what cgroups can do here leaves nothing, and its answers are true. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup_probe.h"
#include "cgroup/group.h"
#include "tests/unit/harness.h"

TestSuite(cgroup_probe, .fini = harness_leak_check);

Test(cgroup_probe, controllers_are_whole_words)
{
	static const char listed[] = "cpuset cpu io memory hugetlb\n";

	cr_expect(cgroup_lists_controller(listed, "cpu"));
	cr_expect(cgroup_lists_controller(listed, "cpuset"));
	cr_expect(cgroup_lists_controller(listed, "hugetlb"));
	cr_expect_not(cgroup_lists_controller(listed, "pids"));
	cr_expect_not(cgroup_lists_controller(listed, "mem"));
	cr_expect_not(cgroup_lists_controller("", "cpu"));
	cr_expect_not(cgroup_lists_controller("\n", "cpu"));
}

/* Directories of this process's making below base. */
static int count_own(const char *base)
{
	char prefix[64];
	const struct dirent *entry;
	int n = 0;
	DIR *directory = opendir(base);

	(void)snprintf(prefix, sizeof prefix, "pinfold-%d-", getpid());
	cr_assert_not_null(directory);
	while ((entry = readdir(directory)) != NULL)
		n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(directory);
	return n;
}

Test(cgroup_probe, leaves_nothing_and_agrees_with_the_files)
{
	struct cgroup_probe probe;
	struct error err;
	char path[1100];
	char base[1024];
	int n_fds = harness_count_fds();

	harness_ok(cgroup_probe(&probe, &err), &err);
	cr_expect_eq(harness_count_fds(), n_fds);
	harness_ok(group_find_base(base, sizeof base, &err), &err);
	if (!probe.findings[CGROUP_GROUP].works) {
		cr_expect_str_eq(probe.base, "");
		cr_expect_str_neq(probe.findings[CGROUP_GROUP].step, "");
		cr_skip_test("no group can be made here: %s", probe.findings[CGROUP_GROUP].detail);
	}
	cr_expect_str_eq(probe.base, base);
	cr_expect_eq(count_own(base), 0);
	(void)snprintf(path, sizeof path, "%s/cgroup.subtree_control", base);
	cr_expect_eq(access(path, F_OK), 0);
}

Test(cgroup_probe, a_bad_base_is_a_finding)
{
	struct cgroup_probe probe;
	struct error err;

	setenv("PINFOLD_CGROUP", "/tmp", 1);
	harness_ok(cgroup_probe(&probe, &err), &err);
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		cr_expect_not(probe.findings[i].works);
	cr_expect_not_null(strstr(probe.findings[CGROUP_GROUP].detail, "PINFOLD_CGROUP"));
	cr_expect_str_eq(probe.base, "");
}
