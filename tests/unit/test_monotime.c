#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/monotime.h"
#include "tests/unit/harness.h"

TestSuite(monotime, .fini = harness_leak_check);

Test(monotime, advances)
{
	uint64_t before = monotime_ns();
	struct timespec pause = {.tv_nsec = 2000000};

	(void)nanosleep(&pause, NULL);
	cr_expect_geq(monotime_ns(), before + 2 * NS_PER_MS);
}

Test(monotime, after_saturates)
{
	uint64_t now = monotime_ns();

	cr_expect_geq(monotime_after_ns(NS_PER_S), now + NS_PER_S);
	cr_expect_lt(monotime_after_ns(NS_PER_S), now + 60 * NS_PER_S);
	cr_expect_eq(monotime_after_ns(UINT64_MAX), UINT64_MAX);
	cr_expect_eq(monotime_after_ns(UINT64_MAX - 1), UINT64_MAX);
}

Test(monotime, realtime_is_rfc_3339_in_utc)
{
	char buf[32], check[40];
	int year, month, day, hour, minute, second, millisecond;
	time_t before = time(NULL);
	struct tm utc;

	cr_expect_eq(realtime_format(realtime_ns(), buf, sizeof buf), buf);
	cr_assert_eq(sscanf(buf, "%d-%d-%dT%d:%d:%d.%dZ", &year, &month, &day, &hour, &minute, &second, &millisecond), 7);
	(void)snprintf(check, sizeof check, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day, hour, minute,
		second, millisecond);
	cr_expect_str_eq(buf, check, "every field has its width");
	utc = (struct tm){.tm_year = year - 1900,
		.tm_mon = month - 1,
		.tm_mday = day,
		.tm_hour = hour,
		.tm_min = minute,
		.tm_sec = second};
	cr_expect_geq(timegm(&utc), before - 1);
	cr_expect_leq(timegm(&utc), before + 5);
}
