/* System calls of x86-64 by name and by number. The table is made when pinfold is built, see generate_syscalls.c. */
#ifndef SECCOMP_SYSCALLS_H
#define SECCOMP_SYSCALLS_H

#include <stdbool.h>

#include "base/arena.h"

/* One above the highest number a decision is kept for; calls from here on are newer than this pinfold. */
#define SYSCALL_NUMBERS 512

/* NULL where no call that pinfold knows has this number. */
const char *syscall_name(unsigned number);
/* -1 where x86-64 has no such call. */
int syscall_number(const char *name);
/* True for the name of a call that only other architectures have ("socketcall", "s390_pci_mmio_read"). */
bool syscall_is_foreign(const char *name);
/* The known name most like this one, NULL where none is near. */
const char *syscall_nearest(const char *name, struct arena *arena);

#endif
