/*
 * Numbers with a unit: times, sizes, counts, thousandths; from text, from JSON, and within their field's bounds.
 *
 * JSON numbers are taken in the unit a person thinks in: bytes, seconds, processors. A real number is turned into an
 * integer once, here, and only where it fits. As in the text form, what is smaller than a unit is dropped; but what the
 * binary number misses of the decimal one that was written is no such thing.
 */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/monotime.h"
#include "base/str.h"
#include "runtime/policy/value.h"
#include "runtime/policy/value_take.h"

bool policy_take_time(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	struct error why = {};

	(void)field;
	*item = (struct policy_item){};
	if (str_parse_time(text, &item->number, &why) < 0)
		return policy_reading_refuse(reading, "%s", why.text);
	return true;
}

bool policy_take_size(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	struct error why = {};

	(void)field;
	*item = (struct policy_item){};
	if (str_parse_size(text, &item->number, &why) < 0)
		return policy_reading_refuse(reading, "%s", why.text);
	return true;
}

bool policy_take_count(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	struct error why = {};

	(void)field;
	*item = (struct policy_item){};
	if (str_parse_u64(text, 0, INT64_MAX, &item->number, &why) < 0)
		return policy_reading_refuse(reading, "%s", why.text);
	return true;
}

bool policy_take_milli(
	struct policy_reading *reading, const struct policy_field *field, const char *text, struct policy_item *item)
{
	struct error why = {};

	(void)field;
	*item = (struct policy_item){};
	if (str_parse_milli(text, &item->number, &why) < 0)
		return policy_reading_refuse(reading, "%s", why.text);
	return true;
}

/* "500ms", "1M", "128", "1.5" */
const char *policy_number_text(enum policy_kind kind, uint64_t number, char *buf, size_t size)
{
	if (number == LIMIT_NONE)
		(void)snprintf(buf, size, "none");
	else if (kind == KIND_TIME)
		(void)str_format_time(number, buf, size);
	else if (kind == KIND_SIZE || kind == KIND_TMPFS)
		(void)str_format_size(number, buf, size);
	else if (kind == KIND_MILLI)
		(void)snprintf(buf, size, "%.10g", (double)number / 1000);
	else
		(void)snprintf(buf, size, "%" PRIu64, number);
	return buf;
}

static bool has_range(enum policy_kind kind)
{
	return kind == KIND_TIME || kind == KIND_SIZE || kind == KIND_COUNT || kind == KIND_MILLI || kind == KIND_TMPFS;
}

bool policy_value_in_range(struct policy_reading *reading, const struct policy_field *field, uint64_t number)
{
	char given[40];
	char bound[40];

	if (!has_range(field->kind) || (field->nullable && number == LIMIT_NONE))
		return true;
	if (number >= field->min && number <= field->max)
		return true;
	(void)policy_number_text(field->kind, number, given, sizeof given);
	if (number > field->max)
		return policy_reading_refuse(reading, "%s is above the greatest, %s", given,
			policy_number_text(field->kind, field->max, bound, sizeof bound));
	(void)policy_number_text(field->kind, field->min, bound, sizeof bound);
	if (number == 0 && field->nullable)
		return policy_reading_refuse(reading, "0 is below the least, %s; to lift the limit, say none", bound);
	return policy_reading_refuse(reading, "%s is below the least, %s", given, bound);
}

/* What one unit of a JSON number is in the field's own unit. */
static uint64_t unit_of(enum policy_kind kind)
{
	return kind == KIND_TIME ? NS_PER_S : kind == KIND_MILLI ? 1000 : 1;
}

bool policy_value_from_number(
	struct policy_reading *reading, const struct policy_field *field, const json_t *json, struct policy_item *item)
{
	uint64_t unit = unit_of(field->kind);
	double real = json_number_value(json);

	*item = (struct policy_item){};
	if (real < 0)
		return policy_reading_refuse(reading, "a negative number");
	if (json_is_integer(json)) {
		if (__builtin_mul_overflow((uint64_t)json_integer_value(json), unit, &item->number) ||
			item->number > INT64_MAX)
			return policy_reading_refuse(reading, "a number beyond all bounds");
		return policy_value_in_range(reading, field, item->number);
	}
	real = unit == 1 ? real : real * (double)unit * (1 + 4 * DBL_EPSILON);
	if (!(real < (double)INT64_MAX))
		return policy_reading_refuse(reading, "a number beyond all bounds");
	item->number = (uint64_t)real;
	if (unit == 1 && real > (double)item->number)
		return policy_reading_refuse(reading, "expected a whole number");
	return policy_value_in_range(reading, field, item->number);
}
