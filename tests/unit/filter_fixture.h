/* What the tests of filters share: a request made, and a profile read. */
#ifndef TESTS_UNIT_FILTER_FIXTURE_H
#define TESTS_UNIT_FILTER_FIXTURE_H

#include "seccomp/filter_plan.h"
#include "seccomp/profile_oci.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* A request under test, with everything it needs to live. */
struct made {
	struct arena *arena;
	struct diag diag;
	struct filter filter;
	struct error err;
	int result;
};
#define cleanup_made __attribute__((cleanup(made_done)))

struct made make_filter(const struct filter_request *request);
/* Ends the test where the request fails or the kernel would not load the filter. */
struct made make_good_filter(const struct filter_request *request);
void made_done(struct made *made);

/* A profile read from memory, labelled "p.json", for kernel 6.1. */
struct reading {
	struct arena *arena;
	struct diag diag;
	struct filter_plan *plan;
	struct error err;
	int result;
};
#define cleanup_reading __attribute__((cleanup(reading_done)))

struct reading read_profile(const char *text);
/* Ends the test where there is a mistake. */
struct reading read_good_profile(const char *text);
void reading_done(struct reading *reading);

bool diag_has(const struct diag *diag, bool warning, const char *part);

#endif
