/* The shape of the table that generate_syscalls.c writes. Offsets instead of pointers: nothing to relocate at start. */
#ifndef SECCOMP_SYSCALL_TABLE_H
#define SECCOMP_SYSCALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "seccomp/syscalls.h"

struct syscall_entry {
	uint16_t offset; /* of the name in syscall_text */
	int16_t number;  /* -1: of other architectures only */
};

extern const char syscall_text[];
/* Sorted by name. */
extern const struct syscall_entry syscall_entries[];
extern const size_t syscall_entries_n;
/* The entry of each number, -1 where there is none. */
extern const int16_t syscall_by_number[SYSCALL_NUMBERS];

#endif
