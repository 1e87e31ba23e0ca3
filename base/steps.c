#include "base/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/monotime.h"

void steps_take(struct steps *steps, const struct step_mark *marks, size_t n)
{
	for (size_t i = 0; steps != NULL && i < n && steps->n < STEP_MARKS_MAX; i++) {
		if (marks[i].step < _STEP_COUNT)
			steps->marks[steps->n++] = marks[i];
	}
}

void steps_add(struct steps *steps, enum step step)
{
	const struct step_mark mark = {.step = step, .ns = monotime_ns()};

	steps_take(steps, &mark, 1);
}

size_t steps_copy(const struct steps *steps, size_t from, struct step_mark *marks, size_t max)
{
	size_t n = steps != NULL && steps->n > from ? steps->n - from : 0;

	if (n > max)
		n = max;
	if (n > 0)
		memcpy(marks, steps->marks + from, n * sizeof *marks);
	return n;
}

static int by_time(const void *a, const void *b)
{
	const struct step_mark *one = a;
	const struct step_mark *other = b;

	if (one->ns != other->ns)
		return one->ns < other->ns ? -1 : 1;
	return one->step < other->step ? -1 : one->step > other->step;
}

void steps_sort(struct steps *steps)
{
	qsort(steps->marks, steps->n, sizeof *steps->marks, by_time);
}

const char *step_name(enum step step)
{
	static const char *const names[_STEP_COUNT] = {
		[STEP_BEGIN] = "begun",
		[STEP_CGROUP_FOUND] = "place for cgroups found",
		[STEP_LANDLOCK_ASKED] = "Landlock asked for",
		[STEP_PLAN] = "planned",
		[STEP_WATCHES] = "watches set up",
		[STEP_BLOCK] = "init and its orders written",
		[STEP_STREAMS] = "streams made",
		[STEP_CGROUP_MADE] = "cgroup made",
		[STEP_CLONED] = "child cloned into its namespaces",
		[STEP_IDS] = "ids mapped",
		[STEP_SOURCES] = "sources of the mounts opened",
		[STEP_GO] = "sources sent",
		[STEP_CHILD_BEGIN] = "child: begins",
		[STEP_CHILD_SOURCES] = "child: has the sources",
		[STEP_CHILD_NETWORK] = "child: host name and network",
		[STEP_CHILD_MOUNTS] = "child: root built",
		[STEP_CHILD_FENCE] = "child: Landlock's rules built",
		[STEP_READY] = "boundary stands",
		[STEP_MONITORS] = "monitors run",
		[STEP_COMMAND_STARTED] = "command started",
		[STEP_COMMAND_ENDED] = "command ended",
		[STEP_TREE_DEAD] = "tree dead",
		[STEP_SETTLED] = "end settled",
	};

	return names[step];
}
