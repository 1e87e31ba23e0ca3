#include "tests/unit/filter_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/bpf_machine.h"
#include "tests/unit/harness.h"

struct made make_filter(const struct filter_request *request)
{
	struct made made = {0};
	struct error err = {0};

	harness_ok(arena_new(&made.arena, &err), &err);
	made.result = filter_make(request, made.arena, &made.filter, &made.diag, &made.err);
	return made;
}

struct made make_good_filter(const struct filter_request *request)
{
	struct made made = make_filter(request);

	harness_ok(made.result, &made.err);
	bpf_machine_check(&made.filter);
	return made;
}

void made_done(struct made *made)
{
	arena_free(made->arena);
	diag_done(&made->diag);
}

struct reading read_profile(const char *text)
{
	struct reading reading = {0};
	struct error err = {0};

	harness_ok(arena_new(&reading.arena, &err), &err);
	reading.plan = arena_alloc(reading.arena, sizeof *reading.plan);
	reading.result = profile_oci_parse(text, strlen(text), "p.json", KERNEL_VERSION_OF(6, 1), reading.plan,
		reading.arena, &reading.diag, &reading.err);
	return reading;
}

struct reading read_good_profile(const char *text)
{
	struct reading reading = read_profile(text);
	char message[1024];

	cr_assert_eq(reading.result, 0, "%s: %s", text, error_message(&reading.err, message, sizeof message));
	return reading;
}

void reading_done(struct reading *reading)
{
	arena_free(reading->arena);
	diag_done(&reading->diag);
}

bool diag_has(const struct diag *diag, bool warning, const char *part)
{
	for (size_t i = 0; i < diag->n; i++)
		if (diag->entries[i].warning == warning && strstr(diag->entries[i].text, part) != NULL)
			return true;
	return false;
}
