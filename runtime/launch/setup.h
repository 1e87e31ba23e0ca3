/* The parent's end of what is said while a boundary is built. */
#ifndef LAUNCH_SETUP_H
#define LAUNCH_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/steps.h"
#include "runtime/launch/launched.h"

/* The ids are mapped: the child may begin. trees: for each mount operation the descriptor of its source, or -1. */
must_check int setup_send_go(int control_fd, const int *trees, size_t n_ops, struct error *err);
/* Takes the child's SETUP_READY with its descriptors into `launched`, or its failure into err; whatever else comes is
 * one, too. Waits for at most 30 s. */
must_check int setup_wait_ready(struct launched *launched, struct steps *steps, struct error *err);

/* What it had to say, or why it said nothing, is then what setup_wait_ready fails with. */
bool setup_child_has_ended(const struct launched *launched);

#endif
