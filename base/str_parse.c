/*
 * Numbers with and without units, as people write them.
 *
 * A number is digits, perhaps a point and more digits, and nothing else: no sign, no exponent, no space, no locale; so
 * strtod and its kin stay out, which take all of these and "nan" besides. All arithmetic is exact, in 128 bits: a value
 * of 19 digits before the point and 18 behind it, times the largest unit, fits. What is smaller than one unit of the
 * result is dropped, but a value above zero never becomes zero, since zero often means something of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/monotime.h"
#include "base/str.h"

#define FRACTION_DIGITS_MAX 18
#define SHOWN_MAX           64 /* of the offending text, in an error */

__extension__ typedef unsigned __int128 u128;

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit time_units[] = {
	{"ms", NS_PER_MS},
	{"s", NS_PER_S},
	{"", NS_PER_S},
	{"m", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S},
	{NULL, 0},
};

/* Largest first, for str_format_size; a trailing B and the case are dealt with by find_size_unit. */
static const struct unit size_units[] = {
	{"T", 1ull << 40},
	{"G", 1ull << 30},
	{"M", 1ull << 20},
	{"K", 1ull << 10},
	{"", 1},
	{NULL, 0},
};

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* numerator */
	uint64_t scale;    /* its denominator, a power of ten */
};

enum reading {
	READING_OK,
	READING_MALFORMED,
	READING_TOO_LARGE
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static enum reading read_digits(const char **s, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!is_digit(**s))
		return READING_MALFORMED;
	for (; is_digit(**s); (*s)++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(**s - '0'), &value))
			return READING_TOO_LARGE;
	}
	*ret_value = value;
	return READING_OK;
}

/* Reads a decimal number off the start of *s; ".5" and "1." are numbers nowhere in our documents. */
static enum reading read_decimal(const char **s, struct decimal *ret_decimal)
{
	struct decimal decimal = {.scale = 1};
	enum reading reading = read_digits(s, &decimal.whole);
	int digits;

	if (reading == READING_OK && **s == '.') {
		if (!is_digit(*++*s))
			return READING_MALFORMED;
		for (digits = 0; is_digit(**s); digits++, (*s)++) {
			if (digits >= FRACTION_DIGITS_MAX)
				return READING_MALFORMED;
			decimal.fraction = decimal.fraction * 10 + (uint64_t)(**s - '0');
			decimal.scale *= 10;
		}
	}
	if (reading == READING_OK)
		*ret_decimal = decimal;
	return reading;
}

/* decimal * factor, rounded down; false where a value above zero would become zero. */
static bool scale_decimal(const struct decimal *decimal, uint64_t factor, u128 *ret_value)
{
	u128 value = (u128)decimal->whole * factor + (u128)decimal->fraction * factor / decimal->scale;

	*ret_value = value;
	return value > 0 || (decimal->whole == 0 && decimal->fraction == 0);
}

static int refuse(struct error *err, const char *s, const char *complaint)
{
	char shown[SHOWN_MAX];

	return error_set(err, ERROR_USAGE, "parse", "\"%s\" %s", str_printable(s, shown, sizeof shown), complaint);
}

static int refuse_range(struct error *err, const char *s, uint64_t min, uint64_t max)
{
	char shown[SHOWN_MAX];

	return error_set(err, ERROR_USAGE, "parse", "\"%s\" is not between %" PRIu64 " and %" PRIu64,
		str_printable(s, shown, sizeof shown), min, max);
}

int str_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value, struct error *err)
{
	const char *end = s;
	uint64_t value = 0;
	enum reading reading = read_digits(&end, &value);

	if (reading == READING_MALFORMED || (reading == READING_OK && *end != '\0'))
		return refuse(err, s, "is not a whole number");
	if (reading == READING_TOO_LARGE || value < min || value > max)
		return refuse_range(err, s, min, max);
	*ret_value = value;
	return 0;
}

int str_parse_time(const char *s, uint64_t *ret_ns, struct error *err)
{
	const struct unit *unit = time_units;
	struct decimal decimal = {.scale = 1};
	const char *end = s;
	enum reading reading = read_decimal(&end, &decimal);
	u128 ns = 0;

	if (reading == READING_TOO_LARGE)
		return refuse(err, s, "is too long a time");
	while (unit->name != NULL && strcmp(unit->name, end) != 0)
		unit++;
	if (reading == READING_MALFORMED || unit->name == NULL)
		return refuse(err, s, "is not a time; write it like 500ms, 30s, 5m or 1h");
	if (!scale_decimal(&decimal, unit->factor, &ns) || ns == 0)
		return refuse(err, s, "is too short a time; the least is one nanosecond");
	if (ns > INT64_MAX)
		return refuse(err, s, "is too long a time");
	*ret_ns = (uint64_t)ns;
	return 0;
}

/* For ASCII letters alone, whatever the locale of the program says. */
static bool skip_letter(const char **s, char letter)
{
	if ((**s | 0x20) != (letter | 0x20))
		return false;
	(*s)++;
	return true;
}

/* "M", "Mi", "MB", "MiB" and "B", in either case. */
static const struct unit *find_size_unit(const char *suffix)
{
	const struct unit *unit;

	for (unit = size_units; unit->name != NULL; unit++) {
		const char *at = suffix;
		char letter = unit->name[0];

		if (letter != '\0' && !skip_letter(&at, letter))
			continue;
		if (letter != '\0')
			(void)skip_letter(&at, 'i');
		(void)skip_letter(&at, 'b');
		if (*at == '\0')
			return unit;
	}
	return NULL;
}

int str_parse_size(const char *s, uint64_t *ret_bytes, struct error *err)
{
	const struct unit *unit;
	struct decimal decimal = {.scale = 1};
	const char *end = s;
	enum reading reading = read_decimal(&end, &decimal);
	u128 bytes = 0;

	if (reading == READING_TOO_LARGE)
		return refuse(err, s, "is too large a size");
	unit = find_size_unit(end);
	if (reading == READING_MALFORMED || unit == NULL)
		return refuse(err, s, "is not a size; write it like 4096, 64K, 512M or 1.5G");
	if (unit->factor == 1 && decimal.scale != 1)
		return refuse(err, s, "is not a whole number of bytes");
	if (!scale_decimal(&decimal, unit->factor, &bytes))
		return refuse(err, s, "is less than one byte");
	if (bytes > INT64_MAX)
		return refuse(err, s, "is too large a size");
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

int str_parse_milli(const char *s, uint64_t *ret_milli, struct error *err)
{
	struct decimal decimal = {.scale = 1};
	const char *end = s;
	enum reading reading = read_decimal(&end, &decimal);
	u128 milli = 0;

	if (reading == READING_MALFORMED || (reading == READING_OK && *end != '\0'))
		return refuse(err, s, "is not a number; write it like 2 or 1.5");
	if (reading == READING_TOO_LARGE || !scale_decimal(&decimal, 1000, &milli) || milli < 1 || milli > 1000000000)
		return refuse(err, s, "is not between 0.001 and 1000000");
	*ret_milli = (uint64_t)milli;
	return 0;
}

const char *str_format_size(uint64_t bytes, char *buf, size_t size)
{
	const struct unit *unit = size_units;

	while (unit->factor > 1 && (bytes == 0 || bytes % unit->factor != 0))
		unit++;
	(void)snprintf(buf, size, "%" PRIu64 "%s", bytes / unit->factor, unit->name);
	return buf;
}

/* The digits of a fraction of a millisecond, without the zeroes at its end. */
static void format_fraction(uint64_t ns, char *buf, size_t size)
{
	size_t length;

	(void)snprintf(buf, size, ".%06" PRIu64, ns);
	for (length = strlen(buf); length > 0 && buf[length - 1] == '0'; length--)
		buf[length - 1] = '\0';
}

const char *str_format_time(uint64_t ns, char *buf, size_t size)
{
	uint64_t seconds = ns / NS_PER_S;
	uint64_t milliseconds = ns / NS_PER_MS;
	char fraction[32] = "";

	if (ns % NS_PER_S == 0) {
		(void)snprintf(buf, size, "%" PRIu64 "s", seconds);
		return buf;
	}
	if (ns % NS_PER_MS != 0)
		format_fraction(ns % NS_PER_MS, fraction, sizeof fraction);
	(void)snprintf(buf, size, "%" PRIu64 "%sms", milliseconds, fraction);
	return buf;
}
