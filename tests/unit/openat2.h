/* Hosts whose filter hides openat2. */
#ifndef TESTS_UNIT_OPENAT2_H
#define TESTS_UNIT_OPENAT2_H

/* From now on openat2 fails with this errno in this process, as under the filter of a container. Ends the test where
 * that cannot be had. */
void openat2_refuse(int sys_errno);

#endif
