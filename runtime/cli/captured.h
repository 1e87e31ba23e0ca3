/* The kept output of a run, printed for people. */
#ifndef CLI_CAPTURED_H
#define CLI_CAPTURED_H

#include "base/error.h"
#include "include/pinfold.h"

/* Both streams, each to its own descriptor, with a marker line where bytes were left out. A reader that left is no
 * failure. */
must_check int cli_captured_print(pinfold_result *result, struct error *err);

#endif
