/*
 * What was set aside.
 *
 * A planted tree is harmless from the moment in which it was renamed, so there is no haste: it is deleted as fast as
 * the budget of each look allows. Something in it that resists may do so because the command changes it just then; that
 * is tried once more when the tree is dead, and what resists then stays, and is told with the name that it has.
 *
 * Order: violations are told to the caller, so never while this thread has narrow rights.
 */
#include "runtime/supervise/asides.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/supervise/rights.h"

/* Both names: the one that was protected, and the one under which to find what is left. */
static int tell_left(struct asides *asides, const char *kind, const char *path, const char *name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	int parent = slash == NULL ? 0 : (int)(slash - path) + 1;
	const char *left = arena_printf(asides->violations->arena, "%.*s%s", parent, path, name);

	if (left == NULL)
		return error_no_memory(err);
	if (violations_add(asides->violations, kind, path, "set_aside", err) < 0)
		return -1;
	return violations_add(asides->violations, "left_behind", left, "set_aside", err);
}

int asides_add(struct asides *asides, int dirfd, const char *name, const char *kind, const char *path, struct error *err)
{
	struct aside *aside = &asides->list[asides->n];
	int copy = asides->n < ASIDES_MAX ? fcntl(dirfd, F_DUPFD_CLOEXEC, 3) : -1;

	if (copy < 0)
		return tell_left(asides, kind, path, name, err);
	*aside = (struct aside){.dirfd = copy, .kind = kind, .path = path, .state = REMOVAL_UNFINISHED};
	(void)strncpy(aside->name, name, sizeof aside->name - 1);
	asides->n++;
	return 0;
}

static int delete_all(struct asides *asides, size_t *budget, bool last, struct error *err)
{
	struct rights rights = {0};
	struct error refused = {0};

	if (rights_narrow_for(asides->plan, &rights, &refused) < 0)
		return 0; /* they stay */
	for (size_t i = 0; i < asides->n; i++) {
		struct aside *aside = &asides->list[i];

		if (aside->state == REMOVAL_UNFINISHED || last)
			aside->state = removal_delete(aside->dirfd, aside->name, budget);
	}
	return rights_widen(&rights, err);
}

static int tell(struct asides *asides, const struct aside *aside, struct error *err)
{
	if (aside->state == REMOVAL_DONE)
		return violations_add(asides->violations, aside->kind, aside->path, "removed", err);
	return tell_left(asides, aside->kind, aside->path, aside->name, err);
}

int asides_delete(struct asides *asides, size_t *budget, bool last, struct error *err)
{
	size_t kept = 0;
	int r = 0, unfinished = 0;

	if (asides->n == 0)
		return 0;
	if (delete_all(asides, budget, last, err) < 0)
		return -1;
	for (size_t i = 0; i < asides->n; i++) {
		struct aside *aside = &asides->list[i];

		if (aside->state != REMOVAL_DONE && !last) {
			unfinished |= aside->state == REMOVAL_UNFINISHED;
			asides->list[kept++] = *aside;
			continue;
		}
		if (r == 0)
			r = tell(asides, aside, err);
		cleanup_close_fd(&aside->dirfd);
	}
	asides->n = kept;
	return r < 0 ? -1 : unfinished;
}

void asides_close(struct asides *asides)
{
	while (asides->n > 0)
		cleanup_close_fd(&asides->list[--asides->n].dirfd);
}
