/*
 * May this plan be run? In strict mode not with anything unenforceable; in best-effort mode still not without the
 * boundary itself; in neither with a --require that is not met.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "runtime/plan/plan.h"

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

static void tell(struct buf *text, const struct enforcement_row *row)
{
	buf_printf(text, "%s%s%s", text->size > 0 ? "; " : "", row->limit ? "limits." : "", row->name);
	if (row->reason != NULL)
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

static int check_rows(const struct plan *plan, bool strict, struct error *err)
{
	const struct enforcement *enforcement = &plan->enforcement;
	cleanup_buf struct buf text = {0};
	const char *fix = NULL;

	for (size_t i = 0; i < enforcement->n_rows; i++) {
		const struct enforcement_row *row = &enforcement->rows[i];

		if (row->state != ROW_UNENFORCEABLE || (!strict && !is_essential(row)))
			continue;
		tell(&text, row);
		if (fix == NULL)
			fix = row->fix;
	}
	return text.size > 0 ? refuse(&text, fix, err) : 0;
}

static int check_requirement(const struct plan *plan, const struct policy_requirement *requirement, struct error *err)
{
	bool limit = str_starts_with(requirement->feature, "limits.");
	const char *name = limit ? requirement->feature + strlen("limits.") : requirement->feature;
	const struct enforcement_row *row = enforcement_find(&plan->enforcement, limit, name);

	if (row == NULL || row->state != ROW_ENFORCED) {
		(void)error_set(err, ERROR_UNENFORCEABLE, "require", "%s is required and is %s here%s%s",
			requirement->feature, row == NULL ? "unknown" : row_state_name(row->state),
			row != NULL && row->reason != NULL ? ": " : "",
			row != NULL && row->reason != NULL ? row->reason : "");
		if (row != NULL && row->fix != NULL)
			error_set_fix(err, "%s", row->fix);
		return -1;
	}
	if (requirement->mechanism != NULL && !str_equal(row->mechanism, requirement->mechanism))
		return error_set(err, ERROR_UNENFORCEABLE, "require", "%s is required by %s and is enforced by %s here",
			requirement->feature, requirement->mechanism, row->mechanism);
	return 0;
}

int plan_allows_run(const struct plan *plan, const struct policy *policy, struct error *err)
{
	if (check_rows(plan, policy->enforcement == ENFORCEMENT_STRICT, err) < 0)
		return -1;
	for (size_t i = 0; i < policy->n_require; i++) {
		if (check_requirement(plan, &policy->require[i], err) < 0)
			return -1;
	}
	return 0;
}
