/* init's side of starting the command. */
#ifndef LAUNCH_INIT_EXEC_H
#define LAUNCH_INIT_EXEC_H

#include "runtime/launch/init_message.h"

/* Starts the block's command as a child; returns its pid once its exec succeeded, or a negative errno with *ret_failure
 * filled (kind INIT_EVENT_EXEC_FAILED) and no child left. */
long init_exec_command(const struct init_block *block, struct init_event *ret_failure);

#endif
