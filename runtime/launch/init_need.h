/* What the kernel looked for besides the program itself: needed to say why an execve failed. */
#ifndef LAUNCH_INIT_NEED_H
#define LAUNCH_INIT_NEED_H

#include "runtime/launch/init_message.h"

/* For an execve of path that failed with sys_errno: whether it failed because of the interpreter of a script or the
 * loader of a binary, which is then in ret_name. directory: where the command stood. Reads files; INIT_NEED_NONE where
 * nothing is to be found out. */
enum init_need init_need_of(int directory, const char *path, int sys_errno, char *ret_name, unsigned long size);

#endif
