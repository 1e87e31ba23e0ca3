/* Digests that name a policy in reports. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

/* SHA-256 of the bytes as 64 lower-case hexadecimal digits and a NUL. Cannot fail. */
void sha256_hex(const void *data, size_t size, char ret_hex[65]);

#endif
