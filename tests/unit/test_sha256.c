#include <criterion/criterion.h>
#include <string.h>

#include "base/sha256.h"
#include "tests/unit/harness.h"

TestSuite(sha256, .fini = harness_leak_check);

Test(sha256, published_vectors)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[65];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		memset(hex, 'x', sizeof hex);
		sha256_hex(rows[i].text, strlen(rows[i].text), hex);
		cr_expect_str_eq(hex, rows[i].digest);
	}
	sha256_hex(NULL, 0, hex);
	cr_expect_str_eq(hex, rows[0].digest);
}
