/*
 * Clocks. Deadlines and durations use CLOCK_MONOTONIC, which neither an administrator nor NTP can move; the wall clock
 * is read only to stamp records. Both clocks always exist on Linux and the arguments are constants, so clock_gettime
 * cannot fail here; the results are still bounded before arithmetic.
 */
#include "base/monotime.h"

#include <stdio.h>
#include <time.h>

uint64_t monotime_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t monotime_after_ns(uint64_t ns)
{
	uint64_t sum;

	return __builtin_add_overflow(monotime_ns(), ns, &sum) ? UINT64_MAX : sum;
}

uint64_t realtime_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

const char *realtime_format(uint64_t ns, char *buf, size_t size)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm utc = {0};

	(void)gmtime_r(&seconds, &utc);
	(void)snprintf(buf, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1,
		utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(ns % NS_PER_S / NS_PER_MS));
	return buf;
}
