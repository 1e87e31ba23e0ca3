/*
 * The probe on this machine: as whoever runs the tests, as an ordinary user, in a threaded program. It leaves nothing.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cgroup/group.h"
#include "cgroup/group_base.h"
#include "runtime/host/host.h"
#include "tests/unit/harness.h"
#include "tests/unit/probed_host.h"

static const struct host_wants no_wants;

TestSuite(host_probe, .fini = harness_leak_check);

#define NOBODY 65534

static void show(const struct host *host)
{
	char *json = NULL;

	if (host_json(host, &json, NULL) == 0)
		(void)fprintf(stderr, "%s", json);
	free(json);
}

static int become_nobody(void)
{
	if (geteuid() != 0)
		return 0;
	if (sys_setgroups(0, NULL) < 0 || sys_setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		sys_setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after exec: else proc's files of the children are root's */
}

/* In a frame of its own: a host is large. */
static __attribute__((noinline)) void expect_the_same_again(const struct host *host)
{
	struct host again = probe_here("/tmp");

	for (int i = 0; i < _FACT_COUNT; i++)
		cr_expect_eq(host->facts[i].state, again.facts[i].state, "%s: two calls disagree",
			host_fact_name((enum host_fact)i));
}

Test(host_probe, every_fact_is_known_and_a_lack_has_its_step)
{
	struct host host = probe_here("/tmp");

	show(&host);
	for (int i = 0; i < _FACT_COUNT; i++) {
		const struct fact *fact = &host.facts[i];

		cr_expect_neq(fact->state, FACT_UNKNOWN, "%s", host_fact_name((enum host_fact)i));
		if (fact->state == FACT_NO)
			cr_expect_str_neq(fact->step, "", "%s", host_fact_name((enum host_fact)i));
	}
	expect_the_same_again(&host);
}

Test(host_probe, ordinary_user)
{
	struct host host = probe_in_child("an ordinary user", become_nobody);
	char buf[240];

	show(&host);
	cr_expect_not(host.privileged);
	cr_expect_neq(host.uid, 0);
	cr_expect_eq(host.facts[FACT_ID_MAP].state, FACT_NO);
	cr_expect_eq(host.facts[FACT_IDMAPPED_MOUNT].state, FACT_NO);
	cr_expect_str_neq(host_fact_remedy(&host, FACT_ID_MAP, buf, sizeof buf), "");
	if (host.facts[FACT_USER_NAMESPACE].state == FACT_NO)
		cr_expect_eq(host.facts[FACT_PID_NAMESPACE].state, FACT_NO);
	else
		cr_expect_eq(host.facts[FACT_MOUNT_NAMESPACE].state, FACT_YES);
}

Test(host_probe, what_is_known_is_not_asked)
{
	struct host host;
	struct error err;

	harness_ok(host_init(&host, &err), &err);
	host.facts[FACT_PROC_MOUNT] = (struct fact){.state = FACT_NO, .sys_errno = EPERM, .step = "said before"};
	host.facts[FACT_CGROUP2].state = FACT_NO;
	harness_ok(host_probe(&host, NULL, &no_wants, &err), &err);
	cr_expect_eq(host.facts[FACT_PROC_MOUNT].state, FACT_NO);
	cr_expect_str_eq(host.facts[FACT_PROC_MOUNT].step, "said before");
	cr_expect_str_eq(host.cgroup_path, "");
	host_done(&host);
}

static void read_mountinfo(struct buf *buf)
{
	struct error err;

	harness_ok(fd_read_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20, buf, &err), &err);
}

/* Groups of this process's making. */
static int count_groups(void)
{
	char base[1024];
	char prefix[64];
	struct error err;
	const struct dirent *entry;
	DIR *directory;
	int n = 0;

	harness_ok(group_base_find(base, sizeof base, &err), &err);
	directory = *base == '\0' ? NULL : opendir(base);
	(void)snprintf(prefix, sizeof prefix, "pinfold-%d-", getpid());
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (directory != NULL)
		closedir(directory);
	return n;
}

Test(host_probe, fifty_probes_leave_nothing, .timeout = 300)
{
	cleanup_buf struct buf before = {0};
	cleanup_buf struct buf after = {0};
	int n_fds = harness_count_fds();

	read_mountinfo(&before);
	for (int i = 0; i < 50; i++)
		(void)probe_here("/tmp");
	read_mountinfo(&after);
	cr_expect_str_eq(buf_str(&before), buf_str(&after), "mounts are left");
	cr_expect_eq(harness_count_fds(), n_fds, "descriptors are left");
	cr_expect_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	cr_expect_eq(errno, ECHILD, "children are left");
	cr_expect_eq(count_groups(), 0, "cgroups are left");
}

static void *probe_in_thread(void *userdata)
{
	struct host *host = userdata;

	for (int i = 0; i < 5; i++) {
		if (host_init(host, NULL) < 0 || host_probe(host, NULL, &no_wants, NULL) < 0)
			return host;
		host_done(host);
	}
	return NULL;
}

static void *allocate_in_thread(void *userdata)
{
	volatile bool *stop = userdata;

	while (!*stop) {
		char *piece = malloc(100);

		cr_assert_not_null(piece);
		piece[0] = 1;
		free(piece);
	}
	return NULL;
}

Test(host_probe, threads_may_probe_at_once, .timeout = 300)
{
	static struct host hosts[4];
	volatile bool stop = false;
	pthread_t threads[4];
	pthread_t noise;
	void *failed;

	cr_assert_eq(pthread_create(&noise, NULL, allocate_in_thread, (void *)&stop), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, probe_in_thread, &hosts[i]), 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(threads[i], &failed), 0);
		cr_expect_null(failed);
	}
	stop = true;
	cr_assert_eq(pthread_join(noise, NULL), 0);
	for (int i = 1; i < 4; i++)
		for (int j = 0; j < _FACT_COUNT; j++)
			cr_expect_eq(hosts[i].facts[j].state, hosts[0].facts[j].state, "%s",
				host_fact_name((enum host_fact)j));
	cr_expect_eq(count_groups(), 0);
}
