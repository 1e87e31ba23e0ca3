/* Base64 of RFC 4648, with padding and without line breaks. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* malloc'ed, terminated; NULL when memory is out. */
char *base64_encode(const void *data, size_t size, size_t *ret_size);
/* The bytes that `text` of `size` stands for go to ret_data, which has room for size / 4 * 3. False where it is no
 * base64: a foreign character, a length that is no multiple of four, bits left over. */
bool base64_decode(const char *text, size_t size, void *ret_data, size_t *ret_size);

#endif
