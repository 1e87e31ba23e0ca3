/* SHA-256: of bytes at hand, and piece by piece. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_SIZE 65 /* 64 lower-case hexadecimal digits and a NUL */

/* Nothing here can fail. */
void sha256_hex(const void *data, size_t size, char ret_hex[SHA256_HEX_SIZE]);

struct sha256 {
	uint64_t opaque[32];
};
void sha256_begin(struct sha256 *digest);
void sha256_add(struct sha256 *digest, const void *data, size_t size);
void sha256_end(struct sha256 *digest, char ret_hex[SHA256_HEX_SIZE]);

#endif
