/* Profiles in the OCI runtime format and in moby's, which adds "name", conditions and a map of architectures. */
#ifndef SECCOMP_PROFILE_OCI_H
#define SECCOMP_PROFILE_OCI_H

#include "seccomp/filter_plan.h"

#define KERNEL_VERSION_OF(major, minor) (((uint64_t)(major) << 32) | (minor))

/* Reads a file for the kernel that runs. Fills the whole of `plan`; every mistake is in diag, the first in err. */
must_check int profile_oci_read(
	const char *path, struct filter_plan *plan, struct arena *arena, struct diag *diag, struct error *err);
/* The same from memory; `kernel` is a KERNEL_VERSION_OF, for "minKernel". */
must_check int profile_oci_parse(const char *text, size_t size, const char *label, uint64_t kernel,
	struct filter_plan *plan, struct arena *arena, struct diag *diag, struct error *err);
/* "6.1" or "6.1.0-13-amd64" -> KERNEL_VERSION_OF(6, 1); with `whole` nothing may follow the two numbers. */
bool kernel_version_parse(const char *text, bool whole, uint64_t *ret_version);

#endif
