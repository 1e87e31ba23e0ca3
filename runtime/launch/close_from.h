/* Closing every descriptor from a number on, whatever stands in the way. */
#ifndef LAUNCH_CLOSE_FROM_H
#define LAUNCH_CLOSE_FROM_H

/* 0, or -1 with errno where it cannot be made sure that none is left. Async-signal-safe. */
int close_from(int first);

#endif
