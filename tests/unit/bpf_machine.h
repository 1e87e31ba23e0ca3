/* Runs a system call filter as the kernel would, on data that a test makes up. */
#ifndef TESTS_UNIT_BPF_MACHINE_H
#define TESTS_UNIT_BPF_MACHINE_H

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "seccomp/filter.h"

/* Ends the test where the kernel would refuse to load the filter: a jump out of it, a way past its end, an instruction
 * or a load that filters may not have. */
void bpf_machine_check(const struct filter *filter);
/* The filter's answer, SECCOMP_RET_* with its data. */
uint32_t bpf_machine_run(const struct filter *filter, const struct seccomp_data *data);
/* The same for a call of x86-64 with up to six arguments. */
uint32_t bpf_machine_call(const struct filter *filter, uint32_t number, const uint64_t args[6]);

#endif
