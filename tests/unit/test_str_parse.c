#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "tests/unit/harness.h"

#define MS 1000000ull
#define S  1000000000ull

TestSuite(str_parse, .fini = harness_leak_check);

struct row {
	const char *text;
	bool valid;
	unsigned long long value;
};

static const char *long_number = "00000000000000000000000000000000000000000000000000000000000000000000000000000000001";

typedef int (*parse_fn)(const char *s, uint64_t *ret_value, struct error *err);

/* A text that is refused leaves the value alone and says in the error what it was. */
static void check_rows(parse_fn parse, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = 4711;
		struct error err = {0};
		int r = parse(rows[i].text, &value, &err);

		cr_expect_eq(r, rows[i].valid ? 0 : -1, "\"%s\": %d", rows[i].text, r);
		cr_expect_eq(value, rows[i].valid ? rows[i].value : 4711, "\"%s\" gave %llu", rows[i].text,
			(unsigned long long)value);
		cr_expect_eq(err.code, rows[i].valid ? ERROR_NONE : ERROR_USAGE);
		cr_expect_eq(err.text[0] != '\0', !rows[i].valid);
	}
}

#define CHECK_ROWS(parse, rows) check_rows(parse, rows, sizeof(rows) / sizeof *(rows))

static const struct row junk[] = {
	{"", false, 0},
	{" ", false, 0},
	{"5 ", false, 0},
	{" 5", false, 0},
	{"5 s", false, 0},
	{"5\n", false, 0},
	{"-1", false, 0},
	{"+1", false, 0},
	{"NaN", false, 0},
	{"nan", false, 0},
	{"inf", false, 0},
	{"1e10", false, 0},
	{"1e10s", false, 0},
	{"0x10", false, 0},
	{"1,5", false, 0},
	{"1.5.2", false, 0},
	{".5", false, 0},
	{"5.", false, 0},
	{"5.s", false, 0},
	{".", false, 0},
	{"s", false, 0},
	{"K", false, 0},
	{"1d", false, 0},
	{"1ss", false, 0},
	{"1.0000000000000000000000001", false, 0},
	{"99999999999999999999999999999999", false, 0},
	{"18446744073709551616", false, 0},
	{"\xd9\xa3", false, 0}, /* an Arabic digit */
	{"5\xc2\xa0", false, 0},
};

static int parse_u64_any(const char *s, uint64_t *ret_value, struct error *err)
{
	return str_parse_u64(s, 0, UINT64_MAX, ret_value, err);
}

Test(str_parse, junk_is_refused_by_all)
{
	CHECK_ROWS(parse_u64_any, junk);
	CHECK_ROWS(str_parse_time, junk);
	CHECK_ROWS(str_parse_size, junk);
	CHECK_ROWS(str_parse_milli, junk);
}

Test(str_parse, u64)
{
	static const struct row rows[] = {
		{"0", true, 0},
		{"007", true, 7},
		{"18446744073709551615", true, UINT64_MAX},
		{"1.0", false, 0},
		{"1s", false, 0},
	};
	uint64_t value = 1;
	struct error err;

	CHECK_ROWS(parse_u64_any, rows);
	cr_expect_eq(parse_u64_any(long_number, &value, &err), 0);
	cr_expect_eq(value, 1);
}

Test(str_parse, u64_range)
{
	uint64_t value = 0;
	struct error err = {0};

	cr_expect_eq(str_parse_u64("2", 2, 4, &value, &err), 0);
	cr_expect_eq(str_parse_u64("4", 2, 4, &value, &err), 0);
	cr_expect_lt(str_parse_u64("1", 2, 4, &value, &err), 0);
	cr_expect_lt(str_parse_u64("5", 2, 4, &value, &err), 0);
	cr_expect_eq(value, 4);
	cr_expect_str_eq(err.text, "\"5\" is not between 2 and 4");
}

Test(str_parse, times)
{
	static const struct row rows[] = {
		{"500ms", true, 500 * MS},
		{"30s", true, 30 * S},
		{"5m", true, 300 * S},
		{"1h", true, 3600 * S},
		{"2", true, 2 * S},
		{"1.5s", true, 1500 * MS},
		{"1.5", true, 1500 * MS},
		{"0.5h", true, 1800 * S},
		{"0.0001ms", true, 100},
		{"0.000001ms", true, 1},
		{"0.0000001ms", false, 0}, /* a tenth of a nanosecond is not zero */
		{"0.000000001s", true, 1},
		{"0.000000000000000001h", false, 0},
		{"1.999999999999999999s", true, 1999999999},
		{"0", false, 0},
		{"0s", false, 0},
		{"0.0h", false, 0},
		{"99999999999999h", false, 0},
		{"2562047h", true, 2562047 * 3600ull * S},
		{"2562048h", false, 0},
		{"9223372036.854775807s", true, INT64_MAX},
		{"9223372036.854775808s", false, 0},
		{"5M", false, 0},
		{"5S", false, 0},
		{"5 m", false, 0},
		{"1ms1", false, 0},
		{"1m30s", false, 0},
	};

	CHECK_ROWS(str_parse_time, rows);
}

Test(str_parse, sizes)
{
	static const struct row rows[] = {
		{"0", true, 0},
		{"0G", true, 0},
		{"123", true, 123},
		{"123B", true, 123},
		{"64K", true, 65536},
		{"64k", true, 65536},
		{"64KB", true, 65536},
		{"64Ki", true, 65536},
		{"64KiB", true, 65536},
		{"64kib", true, 65536},
		{"1M", true, 1ull << 20},
		{"512m", true, 512ull << 20},
		{"2G", true, 2ull << 30},
		{"1T", true, 1ull << 40},
		{"1.5G", true, 3ull << 29},
		{"0.1K", true, 102}, /* 102.4, rounded down */
		{"0.0001K", false, 0},
		{"1.5", false, 0},
		{"1.0B", false, 0},
		{"8388607T", true, 8388607ull << 40},
		{"8388608T", false, 0},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"1P", false, 0},
		{"1i", false, 0},
		{"1KK", false, 0},
		{"1Kx", false, 0},
		{"1BB", false, 0},
		{"1iB", false, 0},
	};

	CHECK_ROWS(str_parse_size, rows);
}

Test(str_parse, millis)
{
	static const struct row rows[] = {
		{"1.5", true, 1500},
		{"2", true, 2000},
		{"0.001", true, 1},
		{"0.0009", false, 0},
		{"1.23456", true, 1234},
		{"0", false, 0},
		{"0.000", false, 0},
		{"1000000", true, 1000000000},
		{"1000000.001", false, 0},
		{"1K", false, 0},
	};

	CHECK_ROWS(str_parse_milli, rows);
}

Test(str_parse, errors_show_hostile_text_harmlessly)
{
	struct error err = {0};
	uint64_t value;
	char text[4000];

	memset(text, '\x1b', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	cr_expect_lt(str_parse_time(text, &value, &err), 0);
	cr_expect_null(strchr(err.text, '\x1b'));
	cr_expect_not_null(strstr(err.text, "500ms"), "the advice is not cut off: %s", err.text);
}

Test(str_parse, format_size)
{
	static const struct row rows[] = {
		{"0", true, 0},
		{"1", true, 1},
		{"1023", true, 1023},
		{"1K", true, 1024},
		{"1025", true, 1025},
		{"512M", true, 512ull << 20},
		{"1G", true, 1ull << 30},
		{"1536M", true, 3ull << 29},
		{"1T", true, 1ull << 40},
		{"1024T", true, 1ull << 50},
		{"9223372036854775807", true, INT64_MAX},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(str_format_size(rows[i].value, buf, sizeof buf), rows[i].text);
	CHECK_ROWS(str_parse_size, rows);
}

Test(str_parse, format_time)
{
	static const struct row rows[] = {
		{"60s", true, 60 * S},
		{"3600s", true, 3600 * S},
		{"1500ms", true, 1500 * MS},
		{"1ms", true, MS},
		{"0.5ms", true, MS / 2},
		{"0.000001ms", true, 1},
		{"9223372036854.775807ms", true, INT64_MAX},
	};
	char buf[32];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(str_format_time(rows[i].value, buf, sizeof buf), rows[i].text);
	CHECK_ROWS(str_parse_time, rows);
	cr_expect_str_eq(str_format_time(0, buf, sizeof buf), "0s");
	cr_expect_str_eq(str_format_time(UINT64_MAX, buf, sizeof buf), "18446744073709.551615ms");
}
