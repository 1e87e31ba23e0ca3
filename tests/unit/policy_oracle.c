/*
 * Written from what docs/policy.md says of paths and not from how the plan goes about it: no tree, no mounts, no order,
 * only the longest path and the strictest word.
 */
#include "tests/unit/policy_oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file a rule means: the policy's paths have no glob here but the one for .env, which the tree has twice. */
static void put_saying(const struct world *world, struct sayings *sayings, enum said said, const char *path)
{
	char rest[512] = "";
	char joined[1024];
	char *resolved;

	if (strcmp(path, "**/.env") == 0) {
		put_saying(world, sayings, said, ".env");
		put_saying(world, sayings, said, "sub/.env");
		return;
	}
	(void)snprintf(joined, sizeof joined, "%s%s%s",
		path[0] == '/'           ? ""
			: path[0] == '~' ? world->home
					 : world->ws,
		path[0] == '/' ? "" : "/", path[0] == '~' ? path + 2 : path);
	while ((resolved = realpath(joined, NULL)) == NULL) {
		char *slash = strrchr(joined, '/');
		char longer[512];

		(void)snprintf(longer, sizeof longer, "%.250s%.250s", slash, rest);
		memcpy(rest, longer, sizeof rest);
		*slash = '\0';
	}
	cr_assert_lt(sayings->n, SAYINGS_MAX);
	sayings->list[sayings->n].said = said;
	(void)snprintf(joined, sizeof joined, "%.500s%.500s", resolved, rest);
	free(resolved);
	sayings->list[sayings->n++].path = strdup(joined);
}

void sayings_read(const struct world *world, const struct policy *policy, struct sayings *ret_sayings)
{
	static const enum said said_of[] = {
		[ACCESS_READ] = SAID_READ, [ACCESS_WRITE] = SAID_WRITE, [ACCESS_DENY] = SAID_DENY, [ACCESS_PROTECT] = SAID_PROTECT};

	ret_sayings->n = 0;
	for (size_t i = 0; i < policy->n_paths; i++)
		if (!policy->paths[i].secret)
			put_saying(world, ret_sayings, said_of[policy->paths[i].access], policy->paths[i].path);
	for (size_t i = 0; i < policy->n_tmpfs; i++)
		put_saying(world, ret_sayings, SAID_TMPFS, policy->tmpfs[i].path);
	for (size_t i = 0; i < policy->n_binds; i++)
		put_saying(world, ret_sayings, policy->binds[i].write ? SAID_BIND_WRITE : SAID_BIND,
			policy->binds[i].target);
}

bool is_at_or_below(const char *path, const char *above)
{
	size_t size = strlen(above);

	return strncmp(path, above, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

const struct saying *sayings_counting(const struct sayings *sayings, const char *path)
{
	static const int rank[] = {
		[SAID_TMPFS] = 0, [SAID_BIND] = 1, [SAID_BIND_WRITE] = 1, [SAID_WRITE] = 2, [SAID_READ] = 3, [SAID_DENY] = 4, [SAID_PROTECT] = -1};
	const struct saying *best = NULL;

	for (size_t i = 0; i < sayings->n; i++) {
		const struct saying *one = &sayings->list[i];
		size_t size = strlen(one->path);

		if (one->said == SAID_PROTECT || !is_at_or_below(path, one->path))
			continue;
		if (best == NULL || size > strlen(best->path) ||
			(size == strlen(best->path) && rank[one->said] > rank[best->said]))
			best = one;
	}
	return best;
}

bool sayings_protect(const struct sayings *sayings, const char *path, const struct saying *counts)
{
	for (size_t i = 0; i < sayings->n; i++) {
		const struct saying *one = &sayings->list[i];

		if (one->said == SAID_PROTECT && is_at_or_below(path, one->path) &&
			(counts == NULL || strlen(one->path) >= strlen(counts->path)))
			return true;
	}
	return false;
}

bool sayings_contradict(const struct sayings *sayings)
{
	for (size_t i = 0; i < sayings->n; i++) {
		for (size_t j = 0; sayings->list[i].said == SAID_WRITE && j < sayings->n; j++) {
			if (sayings->list[j].said == SAID_DENY &&
				strcmp(sayings->list[i].path, sayings->list[j].path) != 0 &&
				is_at_or_below(sayings->list[i].path, sayings->list[j].path))
				return true;
		}
	}
	return false;
}

void sayings_done(struct sayings *sayings)
{
	for (size_t i = 0; i < sayings->n; i++)
		free(sayings->list[i].path);
}
