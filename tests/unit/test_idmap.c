/* The process that holds a namespace shares the caller's memory: what it does there must leave no trace. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/idmap.h"
#include "tests/unit/harness.h"

TestSuite(idmap, .fini = harness_leak_check);

static void *wait_for_the_end(void *arg)
{
	const int *fd = arg;
	char byte;

	(void)!read(*fd, &byte, 1);
	return NULL;
}

/* With a second thread libc makes calls that block points of cancellation, and notes so in the thread's own memory. */
Test(idmap, leaves_the_callers_thread_as_it_was)
{
	const struct idmap map = {.inner_uid = 0, .inner_gid = 0, .outer_uid = 70000, .outer_gid = 70000};
	struct error err = {0};
	pthread_t second;
	int ends[2], type = -1;

	if (geteuid() != 0)
		cr_skip_test("only root maps other ids than its own");
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(pthread_create(&second, NULL, wait_for_the_end, &ends[0]), 0);
	for (int i = 0; i < 400; i++) {
		int fd = idmap_namespace(&map, &err);
		struct stat st;

		harness_ok(fd < 0 ? -1 : 0, &err);
		cr_assert_eq(fstat(fd, &st), 0);
		(void)close(fd);
		cr_assert_eq(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type), 0);
		cr_expect_eq(type, PTHREAD_CANCEL_DEFERRED, "it could be cancelled anywhere now");
	}
	(void)close(ends[1]);
	(void)pthread_join(second, NULL);
	(void)close(ends[0]);
}
