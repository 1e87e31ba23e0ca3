/*
 * SHA-256, by nettle, which uses the processor's own instructions: a receipt digests all that is copied, and should not
 * take longer than the copying. A digest tells people and
 * programs that two reports speak of the same policy, or two receipts of the same content; it proves nothing against
 * somebody who may write both. The digest is spelled out here and not by the library's own helper, which takes a
 * modifiable buffer of the caller's promise.
 */
#include "base/sha256.h"

#include <nettle/sha2.h>

/* The library's own state lies in the caller's struct, whose users need no header of the library. */
_Static_assert(sizeof(struct sha256_ctx) <= sizeof(struct sha256), "struct sha256 holds the library's state");
_Static_assert(_Alignof(struct sha256_ctx) <= _Alignof(struct sha256), "and is aligned for it");

static struct sha256_ctx *context(struct sha256 *digest)
{
	return (struct sha256_ctx *)(void *)digest;
}

void sha256_begin(struct sha256 *digest)
{
	sha256_init(context(digest));
}

void sha256_add(struct sha256 *digest, const void *data, size_t size)
{
	sha256_update(context(digest), size, data);
}

void sha256_end(struct sha256 *digest, char ret_hex[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[SHA256_DIGEST_SIZE];

	sha256_digest(context(digest), sizeof bytes, bytes);
	for (size_t i = 0; i < sizeof bytes; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_hex(const void *data, size_t size, char ret_hex[SHA256_HEX_SIZE])
{
	struct sha256 digest;

	sha256_begin(&digest);
	sha256_add(&digest, data, size);
	sha256_end(&digest, ret_hex);
}
