/* Hosts probed on this machine, by the test's process and by children with an obstacle of their own. */
#ifndef TESTS_UNIT_PROBED_HOST_H
#define TESTS_UNIT_PROBED_HOST_H

#include "runtime/host/host.h"

struct host probe_here(const char *workspace);
/* Probes in a forked child after `setup`; ends the test as skipped where the setup cannot be had here. */
struct host probe_in_child(const char *what, int (*setup)(void));

#endif
