/* The public run and result. The result takes over what the run held: the outcome lives in its supervisor. */
#include "runtime/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/steps.h"
#include "runtime/api/objects.h"
#include "runtime/result/result.h"

static int collect_warnings(pinfold_run *run, struct error *err)
{
	const struct enforcement *enforcement = &run->plan->enforcement;
	struct arena *arena = run->plan->arena;

	for (size_t i = 0; i < enforcement->n_rows + enforcement->n_warnings; i++) {
		const struct enforcement_row *row = i < enforcement->n_rows ? &enforcement->rows[i] : NULL;
		const char **slot;

		if (row != NULL && row->state != ROW_UNENFORCEABLE)
			continue;
		slot = arena_push(arena, &run->warnings, &run->n_warnings);
		if (slot == NULL)
			break;
		*slot = row == NULL
			? enforcement->warnings[i - enforcement->n_rows]
			: arena_printf(arena, "%s%s is not enforced%s%s", row->limit ? "limits." : "", row->name,
				  row->reason != NULL ? ": " : "", row->reason != NULL ? row->reason : "");
	}
	return arena_check(arena, err);
}

/* What the report has no row for has its remedy all the same. */
static void add_remedy(pinfold_host *host, struct error *err)
{
	char remedy[sizeof err->fix];

	if (err->code != ERROR_UNENFORCEABLE || err->fix[0] != '\0')
		return;
	(void)pthread_mutex_lock(&host->lock);
	for (enum host_fact fact = 0; fact < FACT_CGROUP2 && err->fix[0] == '\0'; fact++) {
		bool for_root = fact == FACT_ID_MAP || fact == FACT_IDMAPPED_MOUNT;

		if (fact != FACT_LANDLOCK && (!for_root || host->host.privileged) &&
			host->host.facts[fact].state == FACT_NO)
			error_set_fix(err, "%s", host_fact_remedy(&host->host, fact, remedy, sizeof remedy));
	}
	(void)pthread_mutex_unlock(&host->lock);
}

static int plan_run(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, bool checked,
	pinfold_run *run, struct diag *diag, struct error *err)
{
	const struct policy *resolved = NULL;
	struct plan *plan = NULL;

	if (api_plan(host, policy, command, checked, run->steps, &plan, diag, err) < 0)
		return -1;
	steps_mark(run->steps, STEP_PLAN);
	(void)plan_free(run->plan);
	run->plan = plan;
	run->warnings = NULL; /* in the arena of the other */
	run->n_warnings = 0;
	if (policy_document_resolve(policy->document, &resolved, diag, err) < 0 ||
		plan_allows_run(run->plan, resolved, err) < 0)
		return -1;
	return collect_warnings(run, err);
}

/*
 * A run asks for little beforehand and takes the rest for granted. Refused, it asks for everything, as check does, and
 * plans anew: then either the rows say why it cannot be, or it can be with what is left, and the report of the result
 * says what that is.
 */
static int start(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, pinfold_run *run,
	struct diag *diag, struct error *err)
{
	struct error refusal = {0};

	if (supervisor_start(run->plan, &run->supervisor, &refusal) == 0)
		return 0;
	if (refusal.code != ERROR_UNENFORCEABLE || !run->plan->enforcement.isolated) {
		*err = refusal;
		return -1;
	}
	if (plan_run(host, policy, command, true, run, diag, err) < 0)
		return -1;
	if (supervisor_start(run->plan, &run->supervisor, err) == 0)
		return 0;
	add_remedy(host, err);
	return -1;
}

/* The host is planned on under its lock; the launch itself runs unlocked, so that many runs can start at once. */
static int plan_and_start(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, pinfold_run *run,
	struct diag *diag, struct error *err)
{
	steps_mark(run->steps, STEP_BEGIN);
	if (plan_run(host, policy, command, false, run, diag, err) < 0)
		return -1;
	run->command = api_command_hold(command);
	if (start(host, policy, command, run, diag, err) < 0)
		return -1;
	run->cancel_fd = fcntl(supervisor_cancel_fd(run->supervisor), F_DUPFD_CLOEXEC, 0);
	if (run->cancel_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "dup", "the descriptor for cancelling");
	return 0;
}

int pinfold_run_start(pinfold_host *host, pinfold_policy *policy, const pinfold_command *command, pinfold_run **ret_run,
	pinfold_error **err)
{
	cleanup_diag struct diag diag = {0};
	struct error error = {0};
	pinfold_run *run = calloc(1, sizeof *run);

	if (run == NULL)
		(void)error_no_memory(&error);
	else
		run->cancel_fd = -1;
	if (run != NULL && command->traced)
		run->steps = &run->record;
	if (run == NULL || plan_and_start(host, policy, command, run, &diag, &error) < 0) {
		(void)pinfold_run_free(run);
		return api_fail(err, "run", &error, &diag);
	}
	*ret_run = run;
	return 0;
}

const char *pinfold_run_step(const pinfold_run *run, size_t index, uint64_t *ret_ns)
{
	struct steps sorted = run->record;

	if (index >= sorted.n)
		return NULL;
	steps_sort(&sorted);
	*ret_ns = sorted.marks[index].ns;
	return step_name((enum step)sorted.marks[index].step);
}

const char *pinfold_run_warning(const pinfold_run *run, size_t index)
{
	return run->plan != NULL && index < run->n_warnings ? run->warnings[index] : NULL;
}

void pinfold_run_on_output(pinfold_run *run, pinfold_output_fn fn, void *userdata)
{
	run->hooks.output = fn;
	run->hooks.output_userdata = userdata;
	supervisor_set_hooks(run->supervisor, &run->hooks);
}

void pinfold_run_on_event(pinfold_run *run, pinfold_event_fn fn, void *userdata)
{
	run->hooks.event = fn;
	run->hooks.event_userdata = userdata;
	supervisor_set_hooks(run->supervisor, &run->hooks);
}

int pinfold_run_fd(const pinfold_run *run)
{
	return supervisor_fd(run->supervisor);
}

static int dispatch(pinfold_run *run, int timeout_ms, pinfold_error **err)
{
	struct error error = {0};
	int r;

	if (run->over)
		return 1;
	r = supervisor_dispatch(run->supervisor, timeout_ms, &error);
	if (r < 0)
		return api_fail(err, "run", &error, NULL);
	run->over = r == 1;
	return r;
}

int pinfold_run_dispatch(pinfold_run *run, pinfold_error **err)
{
	return dispatch(run, 0, err);
}

int pinfold_run_wait(pinfold_run *run, pinfold_result **ret_result, pinfold_error **err)
{
	struct error error = {0};
	pinfold_result *result;
	int r;

	if (run->supervisor == NULL) {
		(void)error_set(&error, ERROR_USAGE, "run", "its result has been given already");
		return api_fail(err, "run wait", &error, NULL);
	}
	do
		r = dispatch(run, -1, err);
	while (r == 0);
	if (r < 0)
		return -1;
	result = calloc(1, sizeof *result);
	if (result == NULL) {
		(void)error_no_memory(&error);
		return api_fail(err, "run wait", &error, NULL);
	}
	result->plan = steal_ptr(&run->plan);
	result->supervisor = steal_ptr(&run->supervisor);
	result->outcome = supervisor_outcome(result->supervisor);
	result->note = result_note(result->outcome);
	supervisor_release(result->supervisor);
	*ret_result = result;
	return 0;
}

void pinfold_run_cancel(pinfold_run *run)
{
	const uint64_t one = 1;
	int before = errno;
	ssize_t n = write(run->cancel_fd, &one, sizeof one); /* full: it has been asked for already */

	(void)n;
	errno = before;
}

int pinfold_run_resize(pinfold_run *run, unsigned rows, unsigned columns, pinfold_error **err)
{
	struct error error = {0};

	if (run->supervisor == NULL)
		return 0;
	if (supervisor_resize(run->supervisor, rows, columns, &error) < 0)
		return api_fail(err, "run resize", &error, NULL);
	return 0;
}

pinfold_run *pinfold_run_free(pinfold_run *run)
{
	if (run == NULL)
		return NULL;
	(void)supervisor_free(run->supervisor);
	(void)plan_free(run->plan);
	(void)pinfold_command_free(run->command);
	(void)fd_close(run->cancel_fd);
	free(run);
	return NULL;
}

enum pinfold_status pinfold_result_status(const pinfold_result *result)
{
	switch (result->outcome->status) {
	case OUTCOME_EXITED: return PINFOLD_EXITED;
	case OUTCOME_SIGNALED: return PINFOLD_SIGNALED;
	case OUTCOME_TIMED_OUT: return PINFOLD_TIMED_OUT;
	case OUTCOME_CPU_TIME_EXCEEDED: return PINFOLD_CPU_TIME_EXCEEDED;
	case OUTCOME_OUT_OF_MEMORY: return PINFOLD_OUT_OF_MEMORY;
	case OUTCOME_CANCELLED: return PINFOLD_CANCELLED;
	case OUTCOME_SETUP_FAILED:
	case _OUTCOME_STATUS_COUNT: break;
	}
	return PINFOLD_SETUP_FAILED;
}

int pinfold_result_exit_code(const pinfold_result *result)
{
	return result->outcome->has_exit_code ? result->outcome->exit_code : -1;
}

int pinfold_result_signal(const pinfold_result *result)
{
	return result->outcome->signal;
}

int pinfold_result_exit_status(const pinfold_result *result)
{
	return result_exit_status(result->outcome);
}

const void *pinfold_result_output(const pinfold_result *result, int stream, size_t *ret_kept, uint64_t *ret_total)
{
	const struct outcome_stream *kept;

	if (stream != 1 && stream != 2)
		return NULL;
	kept = &result->outcome->streams[stream - 1];
	if (ret_kept != NULL)
		*ret_kept = kept->kept;
	if (ret_total != NULL)
		*ret_total = kept->bytes;
	return kept->data;
}

const char *pinfold_result_note(const pinfold_result *result)
{
	return result->note;
}

const char *pinfold_result_json(pinfold_result *result)
{
	struct error error = {0};
	char *json = NULL;

	if (result->json == NULL && result_json(result->plan, result->outcome, &json, &error) == 0)
		result->json = json;
	return result->json;
}

pinfold_result *pinfold_result_free(pinfold_result *result)
{
	if (result == NULL)
		return NULL;
	(void)supervisor_free(result->supervisor);
	(void)plan_free(result->plan);
	free(result->json);
	free(result->note);
	free(result);
	return NULL;
}
