/* The processes of a tree by name, for people. */
#ifndef SUPERVISE_PROCESS_NAMES_H
#define SUPERVISE_PROCESS_NAMES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* "NAME (PID)" of at most 32 processes below a proc mount; an empty list where it cannot be read. */
must_check int process_names(int proc_fd, struct arena *arena, const char ***ret_names, size_t *ret_n, struct error *err);

#endif
