/* What a policy says of a path of the made-up tree, by the words of the reference alone. */
#ifndef TESTS_UNIT_POLICY_ORACLE_H
#define TESTS_UNIT_POLICY_ORACLE_H

#include <stdbool.h>

#include "tests/unit/world.h"

enum said {
	SAID_WRITE,
	SAID_READ,
	SAID_DENY,
	SAID_PROTECT,
	SAID_TMPFS,
	SAID_BIND,
	SAID_BIND_WRITE
};

struct saying {
	enum said said;
	char *path; /* without symlinks */
};

#define SAYINGS_MAX 64

struct sayings {
	struct saying list[SAYINGS_MAX];
	size_t n;
};

#define cleanup_sayings __attribute__((cleanup(sayings_done)))
void sayings_read(const struct world *world, const struct policy *policy, struct sayings *ret_sayings);
void sayings_done(struct sayings *sayings);
/* The one that counts for a path, protect aside; NULL where there is none. Where on one path something is mounted by
 * name and allowed or denied, too, the latter is given. */
const struct saying *sayings_counting(const struct sayings *sayings, const char *path);
/* Whether protect takes writing away, given the one that counts. */
bool sayings_protect(const struct sayings *sayings, const char *path, const struct saying *counts);
/* A write below a deny. */
bool sayings_contradict(const struct sayings *sayings);
bool is_at_or_below(const char *path, const char *above);

#endif
