/*
 * May this plan be run? In strict mode not with anything unenforceable; in best-effort mode still not without the
 * boundary itself; in neither with a requirement that is not met, which its row says from planning on, so that check shows it too.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "runtime/plan/planner.h"

#define TOLD_MAX 140 /* bytes after which rows are only counted: an error is short, and pinfold check has them all */

/* Without these there is no boundary to make the best of. */
static const char *const essential[] = {"user_namespace", "mount_namespace", "pid_namespace", "proc_masks", "devices",
	"no_new_privs", "capabilities", "setuid_files"};

static bool is_essential(const struct enforcement_row *row)
{
	for (size_t i = 0; !row->limit && i < sizeof essential / sizeof essential[0]; i++) {
		if (strcmp(essential[i], row->name) == 0)
			return true;
	}
	return false;
}

/* Many rows often lack one and the same thing, which is told once. */
static void tell(struct buf *text, const struct enforcement_row *row)
{
	bool told = row->reason == NULL || (text->size > 0 && strstr(buf_str(text), row->reason) != NULL);

	buf_printf(text, "%s%s%s", text->size > 0 ? "; " : "", row->limit ? "limits." : "", row->name);
	if (!told)
		buf_printf(text, " (%s)", row->reason);
}

static int refuse(const struct buf *text, const char *fix, struct error *err)
{
	if (buf_check(text, err) < 0)
		return -1;
	(void)error_set(err, ERROR_UNENFORCEABLE, "plan", "cannot be enforced here: %s", buf_str(text));
	if (fix != NULL)
		error_set_fix(err, "%s", fix);
	return -1;
}

static void fail_requirement(struct planner *planner, struct enforcement_row *row, const char *reason)
{
	*row = (struct enforcement_row){.name = row->name,
		.limit = row->limit,
		.has_asked = row->has_asked,
		.asked = row->asked,
		.unit = row->unit,
		.state = ROW_UNENFORCEABLE,
		.required = true,
		.reason = reason,
		.fix = row->fix};
	planner_warn(planner, "%s%s is required and not met", row->limit ? "limits." : "", row->name);
}

static void check_requirement(struct planner *planner, const struct policy_requirement *requirement)
{
	bool limit = str_starts_with(requirement->feature, "limits.");
	const char *name = limit ? requirement->feature + strlen("limits.") : requirement->feature;
	struct enforcement_row *row = enforcement_find(&planner->plan->enforcement, limit, name);

	if (row == NULL) {
		diag_error(planner->diag, "require: %s: there is no such row", requirement->feature);
		return;
	}
	if (row->state == ROW_UNENFORCEABLE)
		row->required = true;
	else if (row->state == ROW_DEGRADED && requirement->mechanism != NULL &&
		str_equal(row->mechanism, requirement->mechanism))
		return; /* who names a mechanism knows what it can do */
	else if (row->state != ROW_ENFORCED)
		fail_requirement(planner, row,
			arena_printf(planner->arena, "required, and %s here%s%s", row_state_name(row->state),
				row->reason != NULL ? ": " : "", row->reason != NULL ? row->reason : ""));
	else if (requirement->mechanism != NULL && !str_equal(row->mechanism, requirement->mechanism))
		fail_requirement(planner, row,
			arena_printf(planner->arena, "required by %s, and enforced by %s here", requirement->mechanism,
				row->mechanism));
}

int planner_requirements(struct planner *planner, struct error *err)
{
	for (size_t i = 0; i < planner->policy->n_require; i++)
		check_requirement(planner, &planner->policy->require[i]);
	return diag_check(planner->diag, ERROR_POLICY_INVALID, err);
}

int plan_allows_run(const struct plan *plan, const struct policy *policy, struct error *err)
{
	const struct enforcement *enforcement = &plan->enforcement;
	bool strict = policy->enforcement == ENFORCEMENT_STRICT;
	cleanup_buf struct buf text = {0};
	const char *fix = NULL;
	size_t n_more = 0;

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		const struct enforcement_row *row = &enforcement->rows[i];

		if (row->state != ROW_UNENFORCEABLE || (!strict && !row->required && !is_essential(row)))
			continue;
		if (text.size > TOLD_MAX)
			n_more++;
		else
			tell(&text, row);
		if (fix == NULL)
			fix = row->fix;
	}
	if (n_more > 0)
		buf_printf(&text, "; and %zu more", n_more);
	return text.size > 0 ? refuse(&text, fix, err) : 0;
}
