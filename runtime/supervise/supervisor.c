/*
 * The supervisor: one event loop for one confined tree.
 *
 *   caller's process                                          inside
 *   ----------------------------------------------------     --------------------------------
 *   control   <- init_event datagrams, init_request ->        init (pid 1)
 *   death     <- pidfd of init                                  |
 *   outputs   <- pipes, or the master of a private terminal     +- the command and its children
 *   feed      -> pipe, or the master again
 *   loan      -> pipe, where the input is a pipe of the caller's
 *   sampler   <- proc, tmpfs, SysV IPC: what the tree uses (only read)
 *   watcher   <- inotify on the host's directories, for:
 *   guard        what is planted in the caller's own
 *   moves        what is renamed above a mask
 *   monitor   <- mountinfo of init
 *   cancel    <- eventfd, written by any thread or signal handler
 *   wall, escalation, sampler.timer: timers
 *
 * Everything is a source of the loop, nothing blocks, and each source's own file says what it does. This file only
 * wires them. What is inside is trusted in nothing: its pipes may never end, its proc may show anything; only init's
 * pidfd, which the kernel keeps, says that it is over.
 *
 * Order: guards are set before the launch, because the command may plant a name in its first instruction. Everything
 * else is made after it, while the child is still setting itself up.
 */
#include "runtime/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/monotime.h"
#include "base/steps.h"
#include "runtime/supervise/ending.h"
#include "runtime/supervise/events.h"
#include "runtime/supervise/sampling.h"
#include "runtime/supervise/settle.h"
#include "runtime/supervise/state.h"

static int on_control(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return ending_read_events(userdata, err);
}

static int on_death(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	(void)source, (void)events;
	return ending_tree_dead(userdata, err);
}

static int on_cancel(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct supervisor *s = userdata;

	(void)events;
	loop_remove(s->loop, source); /* once is enough */
	return ending_begin(s, END_CANCEL, 0, 0, err);
}

static int on_wall(struct loop_source *source, uint32_t events, void *userdata, struct error *err)
{
	struct supervisor *s = userdata;
	uint64_t passed_ns = monotime_ns() - s->launched->started_ns;

	(void)source, (void)events;
	return ending_begin(
		s, END_WALL_TIME, (double)(s->plan->wall_ns / NS_PER_MS), (double)(passed_ns / NS_PER_MS), err);
}

static int on_chunk(void *userdata, int stream, const char *data, size_t size, struct error *err)
{
	struct supervisor *s = userdata;

	if (s->hooks.output != NULL)
		s->hooks.output(s->hooks.output_userdata, stream, data, size);
	if (event_started(s, err) < 0)
		return -1;
	return event_output(s, stream, data, size, err);
}

/* As SIGPIPE would end a command that writes to a closed pipe; anything but that is the caller's to know. */
static int on_consumer_gone(void *userdata, int stream, int sys_errno, struct error *err)
{
	struct supervisor *s = userdata;

	if (sys_errno != EPIPE && s->failure.code == ERROR_NONE)
		(void)error_set_errno(
			&s->failure, ERROR_IO, sys_errno, "output", "cannot pass stream %d on to the caller", stream);
	return ending_begin(s, END_CONSUMER, 0, 0, err);
}

static int on_output_finished(void *userdata, struct error *err)
{
	return ending_output_finished(userdata, err);
}

static int on_violation(void *userdata, const struct outcome_violation *violation, struct error *err)
{
	return event_violation(userdata, violation, err);
}

static int on_repair(void *userdata, const struct mount_op *op, struct error *err)
{
	struct supervisor *s = userdata;

	return launch_repair_mount(s->launched, op, err);
}

static int on_lost(void *userdata, const struct error *why, struct error *err)
{
	struct supervisor *s = userdata;

	if (s->failure.code == ERROR_NONE)
		s->failure = *why;
	s->outcome.error = s->failure; /* also where the tree has ended by itself meanwhile */
	return s->facts.reaped ? 0 : ending_fail(s, why, err);
}

static int watch_streams(struct supervisor *s, struct error *err)
{
	const struct plan *plan = s->plan;
	bool relay = plan->output == PLAN_OUTPUT_RELAY;
	struct output_route out = {s->launched->stdout_fd, 1, relay ? plan->out_fd : -1, plan->output_bytes};
	struct output_route errors = {s->launched->stderr_fd, 2, relay ? plan->err_fd : -1, plan->output_bytes};

	if (output_open(&s->outputs[0], s->loop, &out, &s->output_events, s->buffer, err) < 0)
		return -1;
	return output_open(&s->outputs[1], s->loop, &errors, &s->output_events, s->buffer, err);
}

/* A terminal that is shown has no cap: the caller sees it as it would see any other. */
static int watch_terminal(struct supervisor *s, struct error *err)
{
	const struct plan *plan = s->plan;
	struct output_route route = {
		s->launched->tty_fd, 1, plan->out_fd, plan->out_fd >= 0 ? UINT64_MAX : plan->output_bytes};
	bool data = plan->stdin_mode == PLAN_STDIN_DATA;
	int in_fd = plan->stdin_mode == PLAN_STDIN_FD ? plan->stdin_fd : -1;
	int master;

	if (output_open(&s->outputs[0], s->loop, &route, &s->output_events, s->buffer, err) < 0)
		return -1;
	master = fcntl(s->launched->tty_fd, F_DUPFD_CLOEXEC, 3); /* a descriptor has one place in a loop */
	if (master < 0)
		return error_set_errno(err, ERROR_IO, errno, "tty", "cannot write to the terminal");
	return feed_open_take(&s->feed, s->loop, data ? plan->stdin_data : NULL, data ? plan->stdin_size : 0, in_fd,
		master, FEED_END_VEOF, err);
}

static int watch_input(struct supervisor *s, struct error *err)
{
	if (s->launched->stdin_fd < 0)
		return 0;
	if (s->plan->stdin_mode == PLAN_STDIN_FD)
		return loan_open_take(&s->loan, s->loop, s->plan->stdin_fd, steal_fd(&s->launched->stdin_fd), err);
	return feed_open_take(&s->feed, s->loop, s->plan->stdin_data, s->plan->stdin_size, -1,
		steal_fd(&s->launched->stdin_fd), FEED_END_CLOSE, err);
}

static int watch_mounts(struct supervisor *s, struct error *err)
{
	const struct mount_monitor_hooks hooks = {on_repair, on_lost, s};

	return mount_monitor_new(&s->plan->mounts, s->launched->mountinfo_fd, s->launched->mountinfo_check_fd, s->loop,
		&s->violations, &hooks, &s->monitor, err);
}

static int watch_time(struct supervisor *s, struct error *err)
{
	uint64_t started_ns = s->launched->started_ns;

	if (s->plan->wall_ns == LIMIT_NONE || s->plan->wall_ns > UINT64_MAX - started_ns)
		return 0;
	if (loop_add_timer(s->loop, &s->wall, on_wall, s, err) < 0)
		return -1;
	return loop_arm(&s->wall, started_ns + s->plan->wall_ns, err);
}

static int watch_tree(struct supervisor *s, struct error *err)
{
	if (loop_add_fd(s->loop, &s->control, s->launched->control_fd, EPOLLIN, on_control, s, err) < 0)
		return -1;
	return loop_add_fd(s->loop, &s->death, s->launched->pidfd, EPOLLIN, on_death, s, err);
}

static int watch(struct supervisor *s, struct error *err)
{
	if (watch_tree(s, err) < 0 || watch_time(s, err) < 0 || ending_init(s, err) < 0)
		return -1;
	if ((s->launched->tty_fd >= 0 ? watch_terminal(s, err) : watch_streams(s, err)) < 0)
		return -1;
	if (s->launched->tty_fd < 0 && watch_input(s, err) < 0)
		return -1;
	if (watch_mounts(s, err) < 0 || sampling_start(s, err) < 0)
		return -1;
	return 0;
}

static int prepare(struct supervisor *s, struct error *err)
{
	if (settle_init(s, err) < 0 || loop_new(&s->loop, err) < 0)
		return -1;
	s->buffer = malloc(OUTPUT_BUFFER_SIZE);
	if (s->buffer == NULL)
		return error_no_memory(err);
	s->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->cancel_fd < 0)
		return error_set_errno(err, ERROR_IO, errno, "eventfd", "cannot make a descriptor for cancellation");
	if (loop_add_fd(s->loop, &s->cancel, s->cancel_fd, EPOLLIN, on_cancel, s, err) < 0)
		return -1;
	s->violations = (struct violations){.arena = s->outcome.arena, .added = on_violation, .userdata = s};
	s->guard_hooks = (struct guard_hooks){on_lost, s};
	s->output_events = (struct output_events){on_chunk, on_consumer_gone, on_output_finished, s};
	if (watcher_new(s->loop, &s->watcher, err) < 0 || moves_start(&s->moves, s->plan, s->watcher, s->loop, err) < 0)
		return -1;
	return guard_new(s->plan, s->loop, s->watcher, &s->violations, &s->guard_hooks, &s->guard, err);
}

static struct supervisor *supervisor_new(const struct plan *plan)
{
	struct supervisor *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	*s = (struct supervisor){.plan = plan,
		.cancel_fd = -1,
		.control = LOOP_SOURCE_INIT,
		.death = LOOP_SOURCE_INIT,
		.cancel = LOOP_SOURCE_INIT,
		.wall = LOOP_SOURCE_INIT,
		.escalation = LOOP_SOURCE_INIT,
		.outputs = {OUTPUT_INIT, OUTPUT_INIT},
		.feed = FEED_INIT,
		.loan = LOAN_INIT,
		.moves = MOVES_INIT,
		.sampler = {.timer = LOOP_SOURCE_INIT}};
	return s;
}

int supervisor_start(const struct plan *plan, struct supervisor **ret_supervisor, struct error *err)
{
	cleanup_with(supervisor_freep) struct supervisor *s = supervisor_new(plan);

	if (s == NULL)
		return error_no_memory(err);
	given_remember(&s->given, plan);
	if (prepare(s, err) < 0)
		return -1;
	steps_mark(plan->steps, STEP_WATCHES);
	if (launch_start(plan, &s->launched, err) < 0 || watch(s, err) < 0)
		return -1;
	steps_mark(plan->steps, STEP_MONITORS);
	*ret_supervisor = steal_ptr(&s);
	return 0;
}

void supervisor_set_hooks(struct supervisor *supervisor, const struct supervisor_hooks *hooks)
{
	supervisor->hooks = *hooks;
}

int supervisor_fd(const struct supervisor *supervisor)
{
	return loop_fd(supervisor->loop);
}

/* The monitor is asked before, because a caller that polled for us may have taken the event, and a wait would be for
 * nothing; and after, for what changed meanwhile. */
static int turn(struct supervisor *s, int timeout_ms, struct error *err)
{
	int r = mount_monitor_check(s->monitor, err);
	bool moved = false;

	if (r < 0 || loop_dispatch(s->loop, r > 0 ? 0 : timeout_ms, err) < 0 || moves_take(&s->moves, &moved, err) < 0)
		return -1;
	if (moved)
		mount_monitor_suspect(s->monitor);
	return mount_monitor_check(s->monitor, err) < 0 ? -1 : 0;
}

int supervisor_dispatch(struct supervisor *supervisor, int timeout_ms, struct error *err)
{
	if (supervisor->phase == PHASE_DONE)
		return 1;
	if (turn(supervisor, timeout_ms, err) < 0) {
		launched_kill(supervisor->launched); /* a supervisor that cannot go on leaves nothing running */
		return -1;
	}
	return supervisor->phase == PHASE_DONE ? 1 : 0;
}

void supervisor_cancel(struct supervisor *supervisor)
{
	const uint64_t one = 1;
	int saved_errno = errno;
	/* EAGAIN means that the counter is full: it has been asked for already. */
	ssize_t n = write(supervisor->cancel_fd, &one, sizeof one);

	(void)n;
	errno = saved_errno;
}

int supervisor_resize(struct supervisor *supervisor, unsigned rows, unsigned columns, struct error *err)
{
	struct winsize size = {.ws_row = (unsigned short)(rows < UINT16_MAX ? rows : UINT16_MAX),
		.ws_col = (unsigned short)(columns < UINT16_MAX ? columns : UINT16_MAX)};

	if (supervisor->launched->tty_fd < 0)
		return error_set(err, ERROR_USAGE, "resize", "the run has no terminal");
	if (ioctl(supervisor->launched->tty_fd, TIOCSWINSZ, &size) < 0)
		return error_set_errno(err, ERROR_IO, errno, "resize", "cannot set the size of the terminal");
	return 0;
}

const struct outcome *supervisor_outcome(const struct supervisor *supervisor)
{
	return supervisor->phase == PHASE_DONE ? &supervisor->outcome : NULL;
}

int supervisor_cancel_fd(const struct supervisor *supervisor)
{
	return supervisor->cancel_fd;
}

void supervisor_release(struct supervisor *supervisor)
{
	struct supervisor *s = supervisor;

	if (s->loop != NULL) {
		sampling_stop(s);
		moves_stop(&s->moves);
		s->guard = guard_free(s->guard);
		s->watcher = watcher_free(s->watcher);
		s->monitor = mount_monitor_free(s->monitor);
		feed_close(&s->feed);
		loan_close(&s->loan);
		output_close(&s->outputs[0]);
		output_close(&s->outputs[1]);
		loop_remove(s->loop, &s->control);
		loop_remove(s->loop, &s->death);
		loop_remove(s->loop, &s->cancel);
		loop_remove(s->loop, &s->wall);
		loop_remove(s->loop, &s->escalation);
	}
	s->launched = launched_free(s->launched);
	given_restore(&s->given);
	s->loop = loop_free(s->loop);
	cleanup_close_fd(&s->cancel_fd);
	free(steal_ptr(&s->buffer));
}

struct supervisor *supervisor_free(struct supervisor *supervisor)
{
	if (supervisor == NULL)
		return NULL;
	supervisor_release(supervisor);
	supervisor->outcome.arena = arena_free(supervisor->outcome.arena);
	free(supervisor);
	return NULL;
}
