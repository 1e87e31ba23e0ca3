#include <criterion/criterion.h>
#include <string.h>

#include "base/monotime.h"
#include "base/steps.h"

Test(steps, without_a_record_nothing_happens)
{
	struct step_mark mark = {.step = STEP_READY, .ns = 1};

	steps_mark(NULL, STEP_BEGIN);
	steps_take(NULL, &mark, 1);
	cr_expect_eq(steps_copy(NULL, 0, &mark, 1), 0);
}

Test(steps, are_told_in_the_order_of_time)
{
	struct steps steps = {0};
	const struct step_mark earlier = {.step = STEP_CLONED, .ns = 1};
	uint64_t now = monotime_ns();

	steps_mark(&steps, STEP_READY);
	steps_take(&steps, &earlier, 1);
	cr_assert_eq(steps.n, 2);
	steps_sort(&steps);
	cr_expect_eq(steps.marks[0].step, STEP_CLONED);
	cr_expect_eq(steps.marks[1].step, STEP_READY);
	cr_expect_geq(steps.marks[1].ns, now);
}

Test(steps, take_neither_strange_nor_too_many_marks)
{
	struct steps steps = {0};
	struct step_mark marks[STEP_MARKS_MAX + 2];

	for (size_t i = 0; i < STEP_MARKS_MAX + 2; i++)
		marks[i] = (struct step_mark){.step = STEP_PLAN, .ns = i};
	marks[0].step = _STEP_COUNT;
	steps_take(&steps, marks, STEP_MARKS_MAX + 2);
	cr_expect_eq(steps.n, STEP_MARKS_MAX);
	cr_expect_eq(steps.marks[0].ns, 1);
	steps_mark(&steps, STEP_PLAN);
	cr_expect_eq(steps.n, STEP_MARKS_MAX);
	cr_expect_eq(steps_copy(&steps, STEP_MARKS_MAX - 3, marks, 2), 2);
	cr_expect_eq(marks[1].ns, STEP_MARKS_MAX - 1);
}

Test(steps, have_names)
{
	for (unsigned i = 0; i < _STEP_COUNT; i++)
		cr_expect(step_name((enum step)i) != NULL && strlen(step_name((enum step)i)) > 0, "step %u", i);
}
