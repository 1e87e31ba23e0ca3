/* Base64 both ways, and what is none. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "tests/unit/harness.h"

TestSuite(base64, .fini = harness_leak_check);

static const struct {
	const char *plain, *text;
} pairs[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"}, {"\xff\xfb\xfe", "//v+"}};

Test(base64, goes_both_ways)
{
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		size_t plain_size = strlen(pairs[i].plain), size = 0;
		cleanup_free char *text = base64_encode(pairs[i].plain, plain_size, &size);
		char back[32];

		cr_assert_not_null(text);
		cr_expect_str_eq(text, pairs[i].text);
		cr_expect_eq(size, strlen(pairs[i].text));
		cr_assert(base64_decode(text, size, back, &size), "%s", text);
		cr_expect_eq(size, plain_size);
		cr_expect(plain_size == 0 || memcmp(back, pairs[i].plain, size) == 0, "%s", text);
	}
}

Test(base64, refuses_every_other_text)
{
	static const char *const texts[] = {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zh==", "Zm9=", "Zm9vZg==Zm9v",
		"Zg==\n", "Zm 9", "Zm9v\n", "Zm-v", "Z=g=", "=g==", "Zm9\xff"};
	char back[32];
	size_t size;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_not(base64_decode(texts[i], strlen(texts[i]), back, &size), "%s", texts[i]);
}
