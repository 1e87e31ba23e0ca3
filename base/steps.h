/*
 * Where the time of a launch goes. Who wants to know gives a record; what passes the steps marks them in it. Without a
 * record a mark is a look at one pointer.
 *
 * The child of a launch is a fork: it marks in its copy, and sends its marks to the parent with the news that all stands.
 */
#ifndef BASE_STEPS_H
#define BASE_STEPS_H

#include <stddef.h>
#include <stdint.h>

enum step {
	STEP_BEGIN,
	STEP_CGROUP_FOUND,
	STEP_LANDLOCK_ASKED,
	STEP_PLAN,
	STEP_WATCHES,
	STEP_BLOCK,
	STEP_STREAMS,
	STEP_CGROUP_MADE,
	STEP_CLONED,
	STEP_IDS,
	STEP_SOURCES,
	STEP_GO,
	STEP_CHILD_BEGIN,
	STEP_CHILD_NETWORK,
	STEP_CHILD_SOURCES,
	STEP_CHILD_MOUNTS,
	STEP_CHILD_FENCE,
	STEP_READY,
	STEP_MONITORS,
	STEP_COMMAND_STARTED,
	STEP_COMMAND_ENDED,
	STEP_TREE_DEAD,
	STEP_SETTLED,
	_STEP_COUNT
};

struct step_mark {
	uint64_t step; /* enum step */
	uint64_t ns;   /* CLOCK_MONOTONIC */
};

#define STEP_MARKS_MAX 40 /* what comes after is lost */

struct steps {
	size_t n;
	struct step_mark marks[STEP_MARKS_MAX];
};

void steps_add(struct steps *steps, enum step step);
/* steps: NULL where nobody wants to know. */
static inline void steps_mark(struct steps *steps, enum step step)
{
	if (steps != NULL)
		steps_add(steps, step);
}
/* Copies what was marked after the first `from` marks, at most `max`; returns how many. */
size_t steps_copy(const struct steps *steps, size_t from, struct step_mark *marks, size_t max);
/* Marks from elsewhere; those of no step are dropped. */
void steps_take(struct steps *steps, const struct step_mark *marks, size_t n);
/* Puts them in the order of time. */
void steps_sort(struct steps *steps);
/* What was done, in a few words. */
const char *step_name(enum step step);

#endif
