/*
 * A launch without a boundary, for the supervisor's tests: launched.h, implemented with the fake tree of fake_init.h.
 *
 * plan->argv is executed for real, in namespaces where only proc and /tmp are new. Where argv[0] begins with '@' init
 * itself misbehaves instead:
 *   "@silent"    ends at once without a message        "@killed"    is killed by a signal
 *   "@deadline"  says that it ended the tree itself    "@stuck"     says that the command ended and never ends
 *   "@garbage"   sends messages of a wrong size first, then says that the command exited with 0
 *   "@immortal"  has a child, and launched_kill cannot kill it; launched_free can
 */
#ifndef TESTS_UNIT_FAKE_LAUNCH_H
#define TESTS_UNIT_FAKE_LAUNCH_H

#include "runtime/launch/launched.h"

#endif
