/* The loopback interface of a new network namespace. */
#ifndef NS_LOOPBACK_H
#define NS_LOOPBACK_H

#include "base/error.h"

/* Brings `lo` of the own network namespace up; the kernel gives it 127.0.0.1 and ::1. Async-signal-safe. */
must_check int loopback_up(struct error *err);

#endif
