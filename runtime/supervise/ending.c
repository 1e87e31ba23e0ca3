/*
 * The ends of a run.
 *
 *   RUNNING --command ended--> LEAVING ----------------+
 *      |  \--limit, cancel--> TERMINATING --grace over--> KILLING --init is dead--> (FLUSHING) --> DONE
 *      |                                                    |  \--ten seconds--> DONE, unkillable
 *      +--limit, failure, no grace -------------------------+
 *
 * Every state but RUNNING has a timer, and RUNNING ends by a limit, by cancellation or by itself, so a run cannot hang.
 * Init's death, told by its pidfd, is the death of the tree: the kernel lets init become a zombie only when everything
 * else in its pid namespace has gone.
 *
 * Race: the deadline may pass in the moment in which the command ends. Before a cause is recorded init's messages are
 * read, so an end that was reported before we killed is the command's own. What comes later is a time-out; both are
 * true.
 *
 * Grace (SIGTERM first) is for the ends that the caller asked for or could foresee: time and cancellation. A tree
 * that eats memory, or whose boundary is open, is killed at once.
 */
#include "runtime/supervise/ending.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/monotime.h"
#include "base/steps.h"
#include "runtime/supervise/events.h"
#include "runtime/supervise/gitlinks.h"
#include "runtime/supervise/sampling.h"
#include "runtime/supervise/settle.h"

#define LEAVE_NS      (800 * NS_PER_MS)
#define UNKILLABLE_NS (10 * NS_PER_S)
#define FLUSH_NS      NS_PER_S

static int arm(struct supervisor *s, uint64_t ns, struct error *err)
{
	return loop_arm(&s->escalation, monotime_after_ns(ns), err);
}

static int enter_killing(struct supervisor *s, struct error *err)
{
	s->phase = PHASE_KILLING;
	launched_kill(s->launched);
	return arm(s, UNKILLABLE_NS, err);
}

static int enter_leaving(struct supervisor *s, struct error *err)
{
	if (s->phase != PHASE_RUNNING)
		return 0;
	s->phase = PHASE_LEAVING;
	return arm(s, LEAVE_NS, err);
}

static int enter_terminating(struct supervisor *s, struct error *err)
{
	const struct init_request request = {.kind = INIT_REQUEST_SIGNAL_ALL, .signo = SIGTERM};

	s->phase = PHASE_TERMINATING;
	launched_request(s->launched, &request);
	return arm(s, s->plan->kill_after_ns, err);
}

static int enter_done(struct supervisor *s, struct error *err)
{
	s->phase = PHASE_DONE;
	if (loop_arm(&s->escalation, 0, err) < 0)
		return -1;
	if (settle(s, err) < 0)
		return -1;
	steps_mark(s->plan->steps, STEP_SETTLED);
	return 0;
}

/* While init still holds the mounts. */
static int look_last(struct supervisor *s, struct error *err)
{
	bool moved = false;

	if (moves_look(&s->moves, &moved, err) < 0)
		return -1;
	if (!moved)
		return 0;
	mount_monitor_suspect(s->monitor);
	return mount_monitor_check(s->monitor, err) < 0 ? -1 : 0;
}

/* What wait(2) says of a process that has ended: of any other status init has not told how the command ended. */
static bool is_end(int wait_status)
{
	return WIFEXITED(wait_status) || WIFSIGNALED(wait_status);
}

static int take_event(struct supervisor *s, const struct init_event *event, struct error *err)
{
	switch ((enum init_event_kind)event->kind) {
	case INIT_EVENT_STARTED:
		steps_mark(s->plan->steps, STEP_COMMAND_STARTED);
		s->facts.started = true;
		return event_started(s, err);
	case INIT_EVENT_EXEC_FAILED:
		s->facts.exec_failed = true;
		s->facts.exec_failure = *event;
		s->facts.exec_failure.text[sizeof event->text - 1] = '\0';
		return enter_leaving(s, err);
	case INIT_EVENT_EXITED:
		if (!is_end(event->wait_status))
			return 0;
		steps_mark(s->plan->steps, STEP_COMMAND_ENDED);
		if (look_last(s, err) < 0)
			return -1;
		s->facts.exited = true;
		s->facts.exit = *event;
		if (s->ended_ns == 0)
			s->ended_ns = monotime_ns();
		return enter_leaving(s, err);
	case INIT_EVENT_FINISHED:
		s->facts.finished = true;
		s->facts.finish = *event;
		s->facts.finish.text[sizeof event->text - 1] = '\0';
		return 0;
	}
	return 0;
}

/* ECONNRESET says, once, that init ended before it had read all that it was sent. What it had sent is there all the same. */
static bool may_have_more(ssize_t n)
{
	return n > 0 || (n < 0 && (errno == EINTR || errno == ECONNRESET));
}

int ending_read_events(struct supervisor *s, struct error *err)
{
	struct init_event event;
	ssize_t n;

	if (s->control.fd < 0)
		return 0;
	do {
		n = recv(s->launched->control_fd, &event, sizeof event, MSG_DONTWAIT);
		if (n == (ssize_t)sizeof event && take_event(s, &event, err) < 0)
			return -1;
	} while (may_have_more(n));
	if (n == 0 || errno != EAGAIN) /* init closed its end: its pidfd says the rest */
		loop_remove(s->loop, &s->control);
	return 0;
}

static bool has_grace(const struct supervisor *s, enum end_cause cause)
{
	return s->plan->kill_after_ns > 0 && (cause == END_WALL_TIME || cause == END_CPU_TIME || cause == END_CANCEL);
}

/* A second reason while the tree is being ended ends the grace; the first one stays the reason. */
static int hurry(struct supervisor *s, enum end_cause cause, struct error *err)
{
	if (s->phase == PHASE_TERMINATING && cause != s->cause && cause != END_WALL_TIME && cause != END_CPU_TIME)
		return enter_killing(s, err);
	if (s->phase == PHASE_LEAVING)
		return enter_killing(s, err);
	if (s->phase == PHASE_FLUSHING && (cause == END_CANCEL || cause == END_WALL_TIME))
		return enter_done(s, err);
	return 0;
}

int ending_begin(struct supervisor *s, enum end_cause cause, double limit, double actual, struct error *err)
{
	if (ending_read_events(s, err) < 0)
		return -1;
	if (s->phase != PHASE_RUNNING)
		return hurry(s, cause, err);
	s->cause = cause;
	s->limit_value = limit;
	s->limit_actual = actual;
	if (event_limit(s, err) < 0)
		return -1;
	return has_grace(s, cause) ? enter_terminating(s, err) : enter_killing(s, err);
}

int ending_fail(struct supervisor *s, const struct error *why, struct error *err)
{
	if (s->failure.code == ERROR_NONE)
		s->failure = *why;
	return ending_begin(s, END_FAILURE, 0, 0, err);
}

static int on_escalation(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct supervisor *s = userdata;

	(void)source, (void)events;
	switch (s->phase) {
	case PHASE_TERMINATING: s->outcome.kill_was_needed = true; return enter_killing(s, err);
	case PHASE_LEAVING: return enter_killing(s, err);
	case PHASE_KILLING: return settle_unkillable(s, err) < 0 ? -1 : enter_done(s, err);
	case PHASE_FLUSHING: return enter_done(s, err);
	case PHASE_RUNNING:
	case PHASE_DONE: break;
	}
	return 0;
}

int ending_init(struct supervisor *s, struct error *err)
{
	return loop_add_timer(s->loop, &s->escalation, on_escalation, s, err);
}

static bool outputs_are_finished(const struct supervisor *s)
{
	return output_is_finished(&s->outputs[0]) && output_is_finished(&s->outputs[1]);
}

static bool time_is_over(const struct supervisor *s)
{
	return s->plan->wall_ns != LIMIT_NONE && monotime_ns() - s->launched->started_ns >= s->plan->wall_ns;
}

/* Waiting for a consumer is bounded by the run's own time limit, or by a second where the run was ended. */
static int enter_flushing(struct supervisor *s, struct error *err)
{
	s->phase = PHASE_FLUSHING;
	if (s->cause == END_NONE && !time_is_over(s))
		return loop_arm(&s->escalation, 0, err);
	return arm(s, FLUSH_NS, err);
}

/* Without a pid namespace the command can kill init, as it can anything of the caller's, and its tree then belongs to
 * nobody. What is known of it is killed, and it is told that this need not be all. */
static void kill_orphans(struct supervisor *s)
{
	if (plan_is_confined(s->plan) || s->facts.finished || !s->facts.started)
		return;
	sampling_kill_seen(s);
	if (s->failure.code == ERROR_NONE)
		(void)error_set(&s->failure, ERROR_UNENFORCEABLE, "tree_kill",
			"pinfold's init was killed from inside; %s",
			s->launched->group != NULL ? "what was in the command's cgroup is dead"
						   : "what was found of the tree was killed, and some may live on");
}

/* Without a pid namespace init's death is not everybody's: the group is. */
static int clear_group(struct supervisor *s, struct error *err)
{
	if (s->launched->group == NULL || (s->plan->namespaces & CLONE_NEWPID) != 0)
		return 0;
	if (group_kill(s->launched->group) < 0)
		return error_set_errno(err, ERROR_IO, errno, "kill", "cannot kill the command's cgroup");
	return 0;
}

int ending_tree_dead(struct supervisor *s, struct error *err)
{
	if (ending_read_events(s, err) < 0)
		return -1;
	loop_remove(s->loop, &s->control);
	loop_remove(s->loop, &s->death); /* before the reaping closes its descriptor */
	if (launched_reap(s->launched, &s->facts.init_status, err) < 0)
		return -1;
	steps_mark(s->plan->steps, STEP_TREE_DEAD);
	s->facts.reaped = true;
	given_restore(&s->given);
	if (s->ended_ns == 0)
		s->ended_ns = monotime_ns();
	loop_remove(s->loop, &s->sampler.timer);
	s->monitor = mount_monitor_free(s->monitor);
	feed_close(&s->feed);
	loan_close(&s->loan);
	kill_orphans(s);
	if (clear_group(s, err) < 0 || guard_finish(s->guard, err) < 0 ||
		gitlinks_finish(s->plan, &s->violations, &s->guard_hooks, err) < 0)
		return -1;
	if (s->facts.finish.left > 0 && settle_unkillable(s, err) < 0)
		return -1;
	s->phase = PHASE_FLUSHING; /* what the last bytes of output cause ends nothing any more */
	if (output_finish(&s->outputs[0], err) < 0 || output_finish(&s->outputs[1], err) < 0)
		return -1;
	return outputs_are_finished(s) ? enter_done(s, err) : enter_flushing(s, err);
}

int ending_output_finished(struct supervisor *s, struct error *err)
{
	return s->phase == PHASE_FLUSHING && outputs_are_finished(s) ? enter_done(s, err) : 0;
}
