/*
 * The pinfold.result/1 document. Every field is present in every result; what was not measured is null and never zero,
 * and integers carry their unit in the name. Pure: all that is said here was settled before.
 */
#include "runtime/result/result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/monotime.h"
#include "runtime/result/error_json.h"
#include "runtime/result/signal_name.h"
#include "runtime/supervise/bytes_json.h"

#define SIGNAL_BASE    128
#define EXIT_TIME      124
#define EXIT_PINFOLD   125
#define EXIT_DENIED    126
#define EXIT_NOT_FOUND 127
#define EXIT_MEMORY    137

static json_t *number(uint64_t value)
{
	return value == USAGE_UNKNOWN ? json_null() : json_u64(value);
}

static json_t *milliseconds(uint64_t ns)
{
	return number(ns == USAGE_UNKNOWN ? ns : ns / NS_PER_MS);
}

static json_t *quantity(double value)
{
	bool whole = value >= 0 && value < 9e15 && (double)(json_int_t)value == value;

	return whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *strings(const char *const *list, size_t n)
{
	cleanup_json json_t *array = json_array();

	for (size_t i = 0; array != NULL && i < n; i++) {
		if (json_array_append_new(array, json_text(list[i])) < 0)
			return NULL;
	}
	return steal_ptr(&array);
}

static json_t *argv_json(char *const *argv)
{
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	return strings((const char *const *)argv, n);
}

static int put_data(json_t *object, const struct outcome_stream *stream)
{
	if (stream->captured)
		return bytes_json_put(object, stream->data, stream->kept);
	return json_put(object, "encoding", json_null()) < 0 ? -1 : json_put(object, "data", json_null());
}

static json_t *stream_json(const struct outcome_stream *stream)
{
	cleanup_json json_t *object = json_object();
	bool cut = stream->omitted_bytes > 0;

	if (object == NULL || put_data(object, stream) < 0 || json_put(object, "bytes", number(stream->bytes)) < 0 ||
		json_put(object, "kept", json_u64(stream->kept)) < 0 ||
		json_put(object, "truncated", json_boolean(cut)) < 0 ||
		json_put(object, "omitted_at", cut ? json_u64(stream->omitted_at) : json_null()) < 0 ||
		json_put(object, "omitted_bytes", json_u64(stream->omitted_bytes)) < 0 ||
		json_put(object, "file", json_null()) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *limit_json(const struct outcome *outcome)
{
	cleanup_json json_t *object = NULL;

	if (outcome->limit_name == NULL)
		return json_null();
	object = json_object();
	if (object == NULL || json_put(object, "name", json_string(outcome->limit_name)) < 0 ||
		json_put(object, "limit", quantity(outcome->limit_value)) < 0 ||
		json_put(object, "actual", quantity(outcome->limit_actual)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *usage_json(const struct outcome *outcome)
{
	cleanup_json json_t *object = json_object();

	if (object == NULL || json_put(object, "wall_ms", milliseconds(outcome->wall_ns)) < 0 ||
		json_put(object, "cpu_user_ms", milliseconds(outcome->cpu_user_ns)) < 0 ||
		json_put(object, "cpu_system_ms", milliseconds(outcome->cpu_system_ns)) < 0 ||
		json_put(object, "memory_peak_bytes", number(outcome->memory_peak_bytes)) < 0 ||
		json_put(object, "processes_peak", number(outcome->processes_peak)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *violation_json(const struct outcome_violation *violation)
{
	cleanup_json json_t *object = json_object();

	if (object == NULL || json_put(object, "kind", json_string(violation->kind)) < 0 ||
		json_put(object, "path", json_text(violation->path)) < 0 ||
		json_put(object, "action", json_string(violation->action)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static json_t *violations_json(const struct outcome *outcome)
{
	cleanup_json json_t *array = json_array();

	for (size_t i = 0; array != NULL && i < outcome->n_violations; i++) {
		if (json_array_append_new(array, violation_json(&outcome->violations[i])) < 0)
			return NULL;
	}
	return steal_ptr(&array);
}

static json_t *signal_json(int signo)
{
	char name[SIGNAL_NAME_SIZE];

	return signo == 0 ? json_null() : json_string(signal_name(signo, name));
}

static json_t *outcome_error_json(const struct outcome *outcome)
{
	return outcome->error.code == ERROR_NONE ? json_null() : error_json(&outcome->error, NULL, 0);
}

static int put_end(json_t *result, const struct plan *plan, const struct outcome *outcome)
{
	if (json_put(result, "schema", json_string("pinfold.result/1")) < 0 ||
		json_put(result, "run_id", json_string(outcome->run_id)) < 0 ||
		json_put(result, "backend", json_text(plan->enforcement.backend)) < 0 ||
		json_put(result, "isolated", json_boolean(plan->enforcement.isolated)) < 0 ||
		json_put(result, "status", json_string(outcome_status_name(outcome->status))) < 0 ||
		json_put(result, "exit_code", outcome->has_exit_code ? json_integer(outcome->exit_code) : json_null()) <
			0 ||
		json_put(result, "signal", signal_json(outcome->signal)) < 0 ||
		json_put(result, "signal_number", outcome->signal != 0 ? json_integer(outcome->signal) : json_null()) < 0 ||
		json_put(result, "core_dumped", json_boolean(outcome->core_dumped)) < 0)
		return -1;
	return json_put(result, "limit_hit", limit_json(outcome));
}

static int put_facts(json_t *result, const struct outcome *outcome)
{
	if (json_put(result, "limits_touched", strings(outcome->limits_touched, outcome->n_limits_touched)) < 0 ||
		json_put(result, "stdout", stream_json(&outcome->streams[0])) < 0 ||
		json_put(result, "stderr", stream_json(&outcome->streams[1])) < 0 ||
		json_put(result, "usage", usage_json(outcome)) < 0 ||
		json_put(result, "usage_sampled", strings(outcome->usage_sampled, outcome->n_usage_sampled)) < 0 ||
		json_put(result, "survivors_killed", json_u64(outcome->survivors_killed)) < 0)
		return -1;
	if (outcome->n_unkillable > 0 &&
		json_put(result, "unkillable", strings(outcome->unkillable, outcome->n_unkillable)) < 0)
		return -1;
	return json_put(result, "violations", violations_json(outcome));
}

static int put_context(json_t *result, const struct plan *plan, const struct outcome *outcome, json_t *enforcement)
{
	char at[32];

	if (json_put(result, "argv", argv_json(plan->argv)) < 0 ||
		json_put(result, "cwd", json_text(plan->directory)) < 0 ||
		json_put(result, "started_at", json_string(realtime_format(outcome->started_at_ns, at, sizeof at))) < 0 ||
		json_put(result, "enforcement", json_incref(enforcement)) < 0)
		return -1;
	return json_put(result, "error", outcome_error_json(outcome));
}

int result_json(const struct plan *plan, const struct outcome *outcome, char **ret_json, struct error *err)
{
	cleanup_json json_t *result = json_object();
	cleanup_json json_t *enforcement = NULL;
	char *text;

	if (enforcement_json(&plan->enforcement, &enforcement, err) < 0)
		return -1;
	if (result == NULL || put_end(result, plan, outcome) < 0 || put_facts(result, outcome) < 0 ||
		put_context(result, plan, outcome, enforcement) < 0)
		return error_no_memory(err);
	text = json_to_string(result, 1);
	if (text == NULL)
		return error_no_memory(err);
	*ret_json = text;
	return 0;
}

static int exit_status_of_setup(const struct error *error)
{
	bool of_command = strcmp(error->where, "exec") == 0 || strcmp(error->where, "chdir") == 0;

	if (of_command && error->code == ERROR_NOT_FOUND)
		return EXIT_NOT_FOUND;
	if (of_command && (error->code == ERROR_PERMISSION_DENIED || error->code == ERROR_LIMIT))
		return EXIT_DENIED;
	return EXIT_PINFOLD;
}

int result_exit_status(const struct outcome *outcome)
{
	bool failed = outcome->error.code != ERROR_NONE;

	switch (outcome->status) {
	case OUTCOME_EXITED: return failed ? EXIT_PINFOLD : outcome->exit_code;
	case OUTCOME_SIGNALED: return failed ? EXIT_PINFOLD : SIGNAL_BASE + outcome->signal;
	case OUTCOME_TIMED_OUT:
	case OUTCOME_CPU_TIME_EXCEEDED: return EXIT_TIME;
	case OUTCOME_OUT_OF_MEMORY: return EXIT_MEMORY;
	case OUTCOME_CANCELLED: return SIGNAL_BASE + SIGTERM;
	case OUTCOME_SETUP_FAILED: return exit_status_of_setup(&outcome->error);
	case _OUTCOME_STATUS_COUNT: break;
	}
	return EXIT_PINFOLD;
}
