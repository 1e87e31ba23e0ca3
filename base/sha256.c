/*
 * SHA-256, by libmd: a small library of digests that every Debian system carries for dpkg. A digest tells people and
 * programs that two reports speak of the same policy; it proves nothing against somebody who may write both. The digest
 * is spelled out here and not by the library's own helper, which takes a modifiable buffer of the caller's promise.
 */
#include "base/sha256.h"

#include <sha2.h>

void sha256_hex(const void *data, size_t size, char ret_hex[65])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;
	size_t i;

	SHA256Init(&context);
	SHA256Update(&context, data, size);
	SHA256Final(digest, &context);
	for (i = 0; i < sizeof digest; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[64] = '\0';
}
