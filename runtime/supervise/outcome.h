/* How a run ended, as facts: what supervise hands to result. */
#ifndef SUPERVISE_OUTCOME_H
#define SUPERVISE_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

enum outcome_status {
	OUTCOME_EXITED,
	OUTCOME_SIGNALED,
	OUTCOME_TIMED_OUT,
	OUTCOME_CPU_TIME_EXCEEDED,
	OUTCOME_OUT_OF_MEMORY,
	OUTCOME_CANCELLED,
	OUTCOME_SETUP_FAILED,
	_OUTCOME_STATUS_COUNT
};

#define USAGE_UNKNOWN UINT64_MAX

/* What was kept of a stream: the first half and the last half of the cap, cut at character boundaries. */
struct outcome_stream {
	bool captured;
	char *data; /* `kept` bytes */
	size_t kept;
	uint64_t bytes;      /* what the command wrote */
	uint64_t omitted_at; /* meaningful where omitted_bytes > 0 */
	uint64_t omitted_bytes;
};

struct outcome_violation {
	const char *kind; /* "planted", "link_replaced", "left_behind", "mask_replaced", "protection_replaced" */
	const char *path;
	const char *action; /* "removed", "restored", "set_aside", "masked_again", "killed", "none" */
};

struct outcome {
	struct arena *arena;
	enum outcome_status status;
	bool has_exit_code;
	int exit_code;
	int signal; /* 0: none */
	bool core_dumped;
	const char *limit_name; /* NULL, or what ended it: "wall_time", "memory", "cpu_time", "file_size", "processes" */
	double limit_value, limit_actual;
	const char **limits_touched;
	size_t n_limits_touched;
	struct outcome_stream streams[2];
	uint64_t wall_ns, cpu_user_ns, cpu_system_ns, memory_peak_bytes, processes_peak; /* USAGE_UNKNOWN: null */
	const char **usage_sampled;
	size_t n_usage_sampled;
	uint64_t survivors_killed;
	bool kill_was_needed; /* SIGTERM first was asked, and SIGKILL had to follow */
	struct outcome_violation *violations;
	size_t n_violations;
	const char **unkillable; /* names of processes that did not die in time */
	size_t n_unkillable;
	uint64_t started_at_ns; /* of the real-time clock */
	char run_id[40];
	struct error error; /* code ERROR_NONE where there is none; exec failures */
};

const char *outcome_status_name(enum outcome_status status);

#endif
