/* The question what cgroups can do here leaves nothing, and its answers are true. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup_probe.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "tests/unit/harness.h"

TestSuite(cgroup_probe, .fini = harness_leak_check);

static const struct cgroup_request nothing;

Test(cgroup_probe, controllers_are_whole_words)
{
	const unsigned cpu = CONTROLLER_BIT(CONTROLLER_CPU);
	const unsigned memory = CONTROLLER_BIT(CONTROLLER_MEMORY);

	cr_expect_eq(controllers_parse("cpuset cpu io memory hugetlb\n"), cpu | memory);
	cr_expect_eq(controllers_parse("cpuset io pids\n"), CONTROLLER_BIT(CONTROLLER_PIDS));
	cr_expect_eq(controllers_parse("memory"), memory);
	cr_expect_eq(controllers_parse("mem cpus xpids\n"), 0);
	cr_expect_eq(controllers_parse(""), 0);
	cr_expect_eq(controllers_parse("\n"), 0);
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

	harness_ok(cgroup_probe(&nothing, &probe, &err), &err);
	cr_expect_eq(
		harness_count_fds(), n_fds + 2 * (probe.hold != NULL), "what is held holds a directory and its lock");
	probe.hold = cgroup_hold_free(probe.hold);
	cr_expect_eq(harness_count_fds(), n_fds);
	harness_ok(group_base_find(base, sizeof base, &err), &err);
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
	harness_ok(cgroup_probe(&nothing, &probe, &err), &err);
	for (int i = 0; i < _CGROUP_ABILITY_COUNT; i++)
		cr_expect_not(probe.findings[i].works);
	cr_expect_not_null(strstr(probe.findings[CGROUP_GROUP].detail, "PINFOLD_CGROUP"));
	cr_expect_str_eq(probe.base, "");
}
