/* Time that no clock change moves. Every deadline and duration comes from here. */
#ifndef BASE_MONOTIME_H
#define BASE_MONOTIME_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

uint64_t monotime_ns(void); /* CLOCK_MONOTONIC */
/* now + ns, saturating at UINT64_MAX ("never"). */
uint64_t monotime_after_ns(uint64_t ns);
/* The real-time clock, for records only: nanoseconds since the Epoch. */
uint64_t realtime_ns(void);
/* RFC 3339 in UTC with milliseconds. size >= 32. Returns buf. */
const char *realtime_format(uint64_t ns, char *buf, size_t size);

#endif
