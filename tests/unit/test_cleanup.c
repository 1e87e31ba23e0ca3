#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/harness.h"

TestSuite(cleanup, .fini = harness_leak_check);

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(cleanup, closes_at_the_end_of_the_scope)
{
	int seen;

	{
		cleanup_close int fd = open_null();

		seen = fd;
		cr_assert(is_open(seen));
	}
	cr_expect_not(is_open(seen));
}

Test(cleanup, stolen_descriptor_survives)
{
	int seen;

	{
		cleanup_close int fd = open_null();

		seen = steal_fd(&fd);
		cr_expect_eq(fd, -1);
	}
	cr_expect(is_open(seen));
	(void)close(seen);
}

Test(cleanup, close_keeps_errno_and_takes_any_negative)
{
	int closed = -1, bad = 987654;

	errno = ENOTTY;
	cleanup_close_fd(&closed);
	cleanup_close_fd(&bad);
	cr_expect_eq(errno, ENOTTY);
	cr_expect_eq(bad, -1);
}

Test(cleanup, frees_and_steals_pointers)
{
	char *kept;

	{
		cleanup_free char *lost = strdup("freed here");
		cleanup_free char *s = strdup("kept");
		cleanup_free char *nothing = NULL;

		cr_assert_not_null(lost);
		kept = steal_ptr(&s);
		cr_expect_null(s);
		cr_expect_null(nothing);
	}
	cr_expect_str_eq(kept, "kept");
	free(kept);
}

struct thing {
	int *freed;
};

static struct thing *thing_free(struct thing *thing)
{
	(*thing->freed)++;
	return NULL;
}
CLEANUP_DEFINE(struct thing, thing_free)

Test(cleanup, destructor_is_called_once_and_not_for_null)
{
	int freed = 0;
	struct thing thing = {.freed = &freed};

	{
		cleanup_with(thing_freep) struct thing *owned = &thing;
		cleanup_with(thing_freep) struct thing *none = NULL;

		cr_expect_null(none);
		cr_expect_not_null(owned);
	}
	cr_expect_eq(freed, 1);
}
