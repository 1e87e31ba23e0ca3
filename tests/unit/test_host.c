/* Hosts as JSON, and the remedy for each lack: on made-up hosts alone. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "runtime/host/host.h"
#include "runtime/host/obstacle.h"
#include "tests/unit/harness.h"

TestSuite(host, .fini = harness_leak_check);

static void read_host(const char *name, const char *suffix, struct host *ret_host)
{
	cleanup_buf struct buf text = {0};
	char path[4096];
	struct error err;

	(void)snprintf(path, sizeof path, "%s/%s%s", HOSTS_DIRECTORY, name, suffix);
	harness_ok(fd_read_file(AT_FDCWD, path, 1 << 20, &text, &err), &err);
	harness_ok(host_parse(buf_str(&text), text.size, ret_host, &err), &err);
}

Test(host, every_fact_has_a_name_of_its_own)
{
	for (int i = 0; i < _FACT_COUNT; i++) {
		cr_assert_not_null(host_fact_name((enum host_fact)i), "fact %d", i);
		for (int j = 0; j < i; j++)
			cr_expect_str_neq(host_fact_name((enum host_fact)i), host_fact_name((enum host_fact)j));
	}
	cr_expect_str_eq(host_fact_name(_FACT_COUNT), "unknown");
}

Test(host, parse_takes_all_that_is_there)
{
	static const char text[] =
		"{\"kernel\": \"6.1.0\", \"uid\": 7, \"gid\": 8, \"privileged\": true, \"cpus\": 3, \"swap\": true,"
		" \"cgroup_path\": \"/c\", \"facts\": {\"user_namespace\": true, \"landlock\": false,"
		" \"proc_mount\": {\"errno\": \"EPERM\", \"step\": \"mount proc\", \"detail\": \"d\"},"
		" \"pidfd\": {\"works\": true, \"detail\": \"x\"}}}";
	struct host host;
	struct error err;

	harness_ok(host_parse(text, strlen(text), &host, &err), &err);
	cr_expect_str_eq(host.kernel, "6.1.0");
	cr_expect_eq(host.uid, 7);
	cr_expect_eq(host.gid, 8);
	cr_expect(host.privileged);
	cr_expect_eq(host.n_cpus, 3);
	cr_expect(host.has_swap);
	cr_expect_str_eq(host.cgroup_path, "/c");
	cr_expect_eq(host.facts[FACT_USER_NAMESPACE].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_LANDLOCK].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].sys_errno, EPERM);
	cr_expect_str_eq(host.facts[FACT_PROC_MOUNT].step, "mount proc");
	cr_expect_str_eq(host.facts[FACT_PROC_MOUNT].detail, "d");
	cr_expect_eq(host.facts[FACT_PIDFD].state, FACT_YES);
	cr_expect_eq(host.facts[FACT_CGROUP2].state, FACT_UNKNOWN);
}

Test(host, parse_refuses_what_it_does_not_know)
{
	static const char *const refused[] = {"", "[]", "{", "{\"kernl\": \"6\"}", "{\"kernel\": 6}", "{\"uid\": -1}",
		"{\"uid\": 4294967296}", "{\"cpus\": 1.5}", "{\"privileged\": 1}", "{\"facts\": []}",
		"{\"facts\": {\"landlok\": true}}", "{\"facts\": {\"landlock\": 1}}",
		"{\"facts\": {\"landlock\": {\"errno\": \"EFOO\"}}}", "{\"facts\": {\"landlock\": {\"errno\": \"E?\"}}}",
		"{\"facts\": {\"landlock\": {\"errno\": 1}}}", "{\"facts\": {\"landlock\": {\"stp\": \"x\"}}}",
		"{\"kernel\": \"0123456789012345678901234567890123456789012345678901234567890123456789\"}"};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct host host;
		struct error err = {0};

		cr_expect_eq(host_parse(refused[i], strlen(refused[i]), &host, &err), -1, "%s", refused[i]);
		cr_expect_neq(err.code, ERROR_NONE, "%s", refused[i]);
	}
}

static void check_round(const char *name)
{
	static struct host host;
	static struct host again;
	cleanup_free char *text = NULL;
	struct error err;

	read_host(name, "", &host);
	harness_ok(host_json(&host, &text, &err), &err);
	harness_ok(host_parse(text, strlen(text), &again, &err), &err);
	cr_expect(memcmp(&host, &again, sizeof host) == 0, "%s", name);
	for (int i = 0; i < _FACT_COUNT; i++)
		cr_expect(host.facts[i].state != FACT_UNKNOWN, "%s: %s", name, host_fact_name((enum host_fact)i));
}

/* Every file of tests/hosts says the same after it was read and written, and leaves no fact out. */
Test(host, files_go_round)
{
	DIR *directory = opendir(HOSTS_DIRECTORY);
	const struct dirent *entry;
	int n = 0;

	cr_assert_not_null(directory, HOSTS_DIRECTORY);
	while ((entry = readdir(directory)) != NULL) {
		if (strstr(entry->d_name, ".json") == NULL)
			continue;
		check_round(entry->d_name);
		n++;
	}
	closedir(directory);
	cr_expect_geq(n, 8);
}

struct remedy_case {
	const char *host;
	enum host_fact fact;
	const char *word; /* what the remedy has in it; NULL: there is none */
};

static const struct remedy_case remedy_cases[] = {
	{"full", FACT_USER_NAMESPACE, NULL},
	{"full", FACT_CGROUP_MEMORY, NULL},
	{"full-user", FACT_ID_MAP, "as root"},
	{"full-user", FACT_IDMAPPED_MOUNT, "as root"},
	{"no-userns", FACT_USER_NAMESPACE, "user.max_user_namespaces"},
	{"no-userns", FACT_MOUNT_NAMESPACE, "user.max_user_namespaces"},
	{"no-userns", FACT_NPROC_PER_NAMESPACE, "user.max_user_namespaces"},
	{"no-userns", FACT_CGROUP2, "Delegate=yes"},
	{"no-userns", FACT_LANDLOCK, NULL},
	{"in-container", FACT_USER_NAMESPACE, NULL},
	{"in-container", FACT_MOUNT_NAMESPACE, "apparmor=unconfined"},
	{"in-container", FACT_PROC_MOUNT, "systempaths=unconfined"},
	{"in-container", FACT_DEVPTS_MOUNT, "seccomp=unconfined"},
	{"in-container", FACT_CGROUP2, "writable"},
	{"hybrid-root", FACT_CGROUP_MEMORY, "unified_cgroup_hierarchy"},
	{"hybrid-user", FACT_CGROUP_MEMORY, "unified_cgroup_hierarchy"},
	{"hybrid-user", FACT_CGROUP2, "PINFOLD_CGROUP"},
	{"no-cgroup", FACT_CGROUP2, "mount a cgroup version 2"},
	{"no-cgroup", FACT_CGROUP_PIDS, "mount a cgroup version 2"},
	{"old-kernel", FACT_LANDLOCK, "5.13"},
	{"old-kernel", FACT_IDMAPPED_MOUNT, "id-mapped"},
	{"old-kernel", FACT_NPROC_PER_NAMESPACE, "5.14"},
	{"old-kernel", FACT_CGROUP_KILL, "5.14"},
};

Test(host, remedies)
{
	for (size_t i = 0; i < sizeof remedy_cases / sizeof *remedy_cases; i++) {
		const struct remedy_case *c = &remedy_cases[i];
		struct host host;
		char buf[240];
		const char *remedy;

		read_host(c->host, ".json", &host);
		remedy = host_fact_remedy(&host, c->fact, buf, sizeof buf);
		if (c->word == NULL)
			cr_expect_str_eq(remedy, "", "%s: %s: %s", c->host, host_fact_name(c->fact), remedy);
		else
			cr_expect_not_null(
				strstr(remedy, c->word), "%s: %s: \"%s\"", c->host, host_fact_name(c->fact), remedy);
	}
}

struct errno_case {
	enum host_fact fact;
	int sys_errno;
	const char *step, *detail, *word;
};

static const struct errno_case errno_cases[] = {
	{FACT_USER_NAMESPACE, ENOSPC, "clone3", "", "user.max_user_namespaces"},
	{FACT_USER_NAMESPACE, EUSERS, "clone3", "", "so many"},
	{FACT_USER_NAMESPACE, ENOSYS, "clone3", "", "5.12"},
	{FACT_USER_NAMESPACE, EINVAL, "clone3", "", "CONFIG_USER_NS"},
	{FACT_USER_NAMESPACE, EPERM, "clone3", "", "container"},
	{FACT_USER_NAMESPACE, EPERM, "clone3", "sysctl kernel.unprivileged_userns_clone is 0",
		"kernel.unprivileged_userns_clone to 1"},
	{FACT_USER_NAMESPACE, EPERM, "uid_map", "sysctl kernel.apparmor_restrict_unprivileged_userns is 1",
		"kernel.apparmor_restrict_unprivileged_userns to 0"},
	{FACT_USER_NAMESPACE, EPERM, "clone3", "a SELinux domain is in force: a:b:container_t:s0", "label=disable"},
	{FACT_NET_NAMESPACE, ENOSPC, "clone3", "", "user.max_net_namespaces"},
	{FACT_PROC_MOUNT, ENOSPC, "clone3", "", "user.max_mnt_namespaces"},
	{FACT_PROC_MOUNT, ENOSPC, "clone3", "sysctl user.max_pid_namespaces is 0", "user.max_pid_namespaces above 0"},
	{FACT_OWN_ID, EPERM, "uid_map", "", "CAP_SETFCAP"},
	{FACT_NET_NAMESPACE, EINVAL, "clone3", "", "CONFIG_NET_NS"},
	{FACT_MOUNT_NAMESPACE, EINVAL, "mount_setattr", "", "plain chroot"},
	{FACT_PROC_MOUNT, EPERM, "mount proc", "", "nothing over any part of it"},
	{FACT_LANDLOCK, EOPNOTSUPP, "landlock_create_ruleset", "", "lsm="},
	{FACT_CGROUP_MEMORY, 0, "cgroup.subtree_control", "", "PINFOLD_CGROUP"},
	{FACT_CGROUP2, EROFS, "mkdir cgroup", "", "writable"},
};

Test(host, remedies_by_errno)
{
	for (size_t i = 0; i < sizeof errno_cases / sizeof *errno_cases; i++) {
		const struct errno_case *c = &errno_cases[i];
		struct host host;
		struct fact *fact = &host.facts[c->fact];
		char buf[240];

		read_host("full", ".json", &host);
		*fact = (struct fact){.state = FACT_NO, .sys_errno = c->sys_errno};
		(void)snprintf(fact->step, sizeof fact->step, "%s", c->step);
		(void)snprintf(fact->detail, sizeof fact->detail, "%s", c->detail);
		cr_expect_not_null(
			strstr(host_fact_remedy(&host, c->fact, buf, sizeof buf), c->word), "case %zu: \"%s\"", i, buf);
	}
}

Test(host, a_covered_proc_is_seen)
{
	cr_expect(obstacle_covers_proc("1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /proc rw - proc proc rw\n"
				       "3 2 0:3 /null /proc/kcore rw - tmpfs t rw\n"));
	cr_expect_not(obstacle_covers_proc("2 1 0:2 / /proc rw - proc proc rw\n"
					   "3 2 0:3 / /proc/sys/fs/binfmt_misc rw - autofs t rw\n"
					   "4 1 0:4 / /process rw - tmpfs t rw\n"));
	cr_expect_not(obstacle_covers_proc(""));
}
