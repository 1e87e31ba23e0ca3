/* The orders for init as one sealed memory file (init_message.h: struct init_block). */
#ifndef LAUNCH_BLOCK_H
#define LAUNCH_BLOCK_H

#include "base/error.h"
#include "runtime/plan/plan.h"

/* Returns the file's descriptor, close-on-exec. */
must_check int block_new(const struct plan *plan, struct error *err);
/* The init program as a sealed, executable memory file. */
must_check int block_init_image(struct error *err);

#endif
