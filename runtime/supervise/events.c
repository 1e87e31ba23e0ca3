/*
 * One JSON object for each thing that happens. Objects are built here and nowhere else, so that what a stream of events
 * can contain is seen in one file. Every object begins with "event" and the run's id.
 */
#include "runtime/supervise/events.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/monotime.h"
#include "runtime/supervise/bytes_json.h"

static bool is_wanted(const struct supervisor *s)
{
	return s->hooks.event != NULL;
}

/* NULL when memory is out. */
static json_t *new_event(const struct supervisor *s, const char *name)
{
	cleanup_json json_t *object = json_object();

	if (object == NULL || json_put(object, "event", json_string(name)) < 0 ||
		json_put(object, "run_id", json_string(s->outcome.run_id)) < 0)
		return NULL;
	return steal_ptr(&object);
}

static int emit(struct supervisor *s, const json_t *object, struct error *err)
{
	cleanup_free char *text = json_to_string(object, 0);

	if (text == NULL)
		return error_no_memory(err);
	s->hooks.event(s->hooks.event_userdata, text);
	return 0;
}

static int put_u64(json_t *object, const char *key, uint64_t value)
{
	return json_put(object, key, value == USAGE_UNKNOWN ? json_null() : json_u64(value));
}

static int put_ms(json_t *object, const char *key, uint64_t ns)
{
	return put_u64(object, key, ns == USAGE_UNKNOWN ? ns : ns / NS_PER_MS);
}

/* The first output may come before init could say that the command runs. */
int event_started(struct supervisor *s, struct error *err)
{
	cleanup_json json_t *object = NULL;
	char at[32];

	if (!is_wanted(s))
		return 0;
	if (s->started_told)
		return 0;
	s->started_told = true;
	object = new_event(s, "started");
	if (object == NULL ||
		json_put(object, "started_at", json_string(realtime_format(s->outcome.started_at_ns, at, sizeof at))) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}

int event_output(struct supervisor *s, int stream, const char *data, size_t size, struct error *err)
{
	cleanup_json json_t *object = NULL;

	if (!is_wanted(s))
		return 0;
	object = new_event(s, "output");
	if (object == NULL || json_put(object, "stream", json_integer(stream)) < 0 ||
		bytes_json_put(object, data, size) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}

int event_sample(struct supervisor *s, struct error *err)
{
	const struct watchdog_sample *sample = &s->sampler.last;
	cleanup_json json_t *object = NULL;

	if (!is_wanted(s))
		return 0;
	object = new_event(s, "sample");
	if (object == NULL || put_ms(object, "wall_ms", monotime_ns() - s->launched->started_ns) < 0 ||
		put_ms(object, "cpu_user_ms", sample->cpu_user_ns) < 0 ||
		put_ms(object, "cpu_system_ms", sample->cpu_system_ns) < 0 ||
		put_u64(object, "memory_bytes", sample->memory_bytes) < 0 ||
		put_u64(object, "processes", sample->processes) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}

const char *end_cause_limit_name(enum end_cause cause)
{
	static const char *const names[_END_COUNT] = {
		[END_WALL_TIME] = "wall_time",
		[END_CPU_TIME] = "cpu_time",
		[END_MEMORY] = "memory",
		[END_PROCESSES] = "processes",
	};

	return names[cause];
}

int event_limit(struct supervisor *s, struct error *err)
{
	const char *name = end_cause_limit_name(s->cause);
	cleanup_json json_t *object = NULL;

	if (!is_wanted(s) || name == NULL)
		return 0;
	object = new_event(s, "limit");
	if (object == NULL || json_put(object, "name", json_string(name)) < 0 ||
		json_put(object, "limit", json_u64((unsigned long long)s->limit_value)) < 0 ||
		json_put(object, "actual", json_u64((unsigned long long)s->limit_actual)) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}

int event_violation(struct supervisor *s, const struct outcome_violation *violation, struct error *err)
{
	cleanup_json json_t *object = NULL;

	if (!is_wanted(s))
		return 0;
	object = new_event(s, "violation");
	if (object == NULL || json_put(object, "kind", json_string(violation->kind)) < 0 ||
		json_put(object, "path", json_text(violation->path)) < 0 ||
		json_put(object, "action", json_string(violation->action)) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}

int event_exited(struct supervisor *s, struct error *err)
{
	const struct outcome *outcome = &s->outcome;
	cleanup_json json_t *object = NULL;

	if (!is_wanted(s))
		return 0;
	object = new_event(s, "exited");
	if (object == NULL || json_put(object, "status", json_string(outcome_status_name(outcome->status))) < 0 ||
		json_put(object, "exit_code", outcome->has_exit_code ? json_integer(outcome->exit_code) : json_null()) <
			0 ||
		json_put(object, "signal_number", outcome->signal != 0 ? json_integer(outcome->signal) : json_null()) < 0 ||
		put_ms(object, "wall_ms", outcome->wall_ns) < 0)
		return error_no_memory(err);
	return emit(s, object, err);
}
