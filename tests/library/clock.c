/*
 * The wall clock is set while a run lives. Here it is this program's own: its clock_gettime stands before the C
 * library's for libpinfold too, and adds what the clock was set by.
 */
#include <jansson.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/library/client.h"

#define HOUR 3600

static _Atomic time_t set_by;
static atomic_int asked;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret_now);

	if (r == 0 && clock == CLOCK_REALTIME) {
		(void)atomic_fetch_add(&asked, 1);
		ret_now->tv_sec += atomic_load(&set_by);
	}
	return r;
}

static void set_after(pinfold_run *run, int ms, time_t seconds)
{
	const struct timespec pause = {0, ms * 1000000L};
	pinfold_error *err = NULL;

	REQUIRE(pinfold_run_dispatch(run, &err) >= 0, "%s", client_reason(err));
	(void)nanosleep(&pause, NULL);
	atomic_store(&set_by, seconds);
}

static json_int_t wall_ms(pinfold_result *result)
{
	json_t *document = json_loads(pinfold_result_json(result), 0, NULL);
	json_int_t ms = json_integer_value(json_object_get(json_object_get(document, "usage"), "wall_ms"));

	json_decref(document);
	return ms;
}

/* Set by so much meanwhile, a run that sleeps 1 s ends as it would have. */
static void check_sleeper(const char *limits, time_t seconds, int status)
{
	pinfold_policy *policy = client_policy(limits);
	pinfold_command *command = client_shell("sleep 1");
	pinfold_run *run = client_start(policy, command);
	uint64_t start = client_now_ms();
	pinfold_result *result;

	set_after(run, 200, seconds);
	result = client_wait(run);
	CHECK(pinfold_result_exit_status(result) == status, "%d with %s, set by %lld s",
		pinfold_result_exit_status(result), limits, (long long)seconds);
	CHECK(client_now_ms() - start < 20000);
	CHECK(wall_ms(result) >= 400 && wall_ms(result) < 20000, "%lld ms", (long long)wall_ms(result));
	atomic_store(&set_by, 0);
	(void)pinfold_result_free(result);
	(void)pinfold_run_free(run);
	(void)pinfold_command_free(command);
	(void)pinfold_policy_free(policy);
}

static void a_clock_that_is_set_moves_no_deadline(void)
{
	check_sleeper("{\"version\": 1, \"limits\": {\"wall_time\": \"60s\"}}", HOUR, 0);
	check_sleeper("{\"version\": 1, \"limits\": {\"wall_time\": \"60s\"}}", -HOUR, 0);
	check_sleeper("{\"version\": 1, \"limits\": {\"wall_time\": \"500ms\"}}", HOUR, 124);
	check_sleeper("{\"version\": 1, \"limits\": {\"wall_time\": \"500ms\"}}", -HOUR, 124);
	CHECK(atomic_load(&asked) > 0, "the clock of this program is not the one that is asked");
}

int main(void)
{
	static const struct test tests[] = {
		{"a wall clock that is set while a run lives moves no deadline", a_clock_that_is_set_moves_no_deadline},
	};

	return client_main(tests, sizeof tests / sizeof *tests);
}
