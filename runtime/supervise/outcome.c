/* The words for how a run ended; they are part of the contract and of every result. */
#include "runtime/supervise/outcome.h"

const char *outcome_status_name(enum outcome_status status)
{
	static const char *const names[_OUTCOME_STATUS_COUNT] = {
		[OUTCOME_EXITED] = "exited",
		[OUTCOME_SIGNALED] = "signaled",
		[OUTCOME_TIMED_OUT] = "timed_out",
		[OUTCOME_CPU_TIME_EXCEEDED] = "cpu_time_exceeded",
		[OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
		[OUTCOME_CANCELLED] = "cancelled",
		[OUTCOME_SETUP_FAILED] = "setup_failed",
	};

	return names[status];
}
