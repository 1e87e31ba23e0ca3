/*
 * The init here is a loop that looks every millisecond: slow, simple, and like the real one in what it says and when.
 * It is the child of a clone without exec in a program with threads, so it keeps to system calls: even fork(3) would
 * wait for locks whose holders do not exist there. What it inherits but its streams and its socket it closes.
 */
#include "tests/unit/fake_launch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/monotime.h"
#include "base/sys.h"
#include "tests/unit/fake_init.h"

#define CONTROL_FD 3
#define IMMORTAL   ((uid_t)4711) /* a host_uid by which launched_kill knows whom it must not kill */

struct start {
	const struct plan *plan;
	int child[3];  /* what becomes 0, 1 and 2; -1: inherited */
	int parent[3]; /* the other ends */
};

static void say(int control, struct init_event event)
{
	(void)send(control, &event, sizeof event, MSG_NOSIGNAL);
}

static _Noreturn void misbehave(int control, const char *how)
{
	if (strcmp(how, "@killed") == 0)
		(void)raise(SIGKILL); /* as pid 1 it lives on */
	if (strcmp(how, "@late") == 0)
		say(control, (struct init_event){.kind = INIT_EVENT_EXITED, .wait_status = 3 << 8});
	if (strcmp(how, "@deadline") == 0 || strcmp(how, "@late") == 0)
		say(control, (struct init_event){.kind = INIT_EVENT_FINISHED, .deadline = 1});
	if (strcmp(how, "@garbage") == 0) {
		(void)send(control, "garbage", 7, MSG_NOSIGNAL);
		say(control, (struct init_event){.kind = 4711});
	}
	if (strcmp(how, "@stuck") == 0 || strcmp(how, "@garbage") == 0)
		say(control, (struct init_event){.kind = INIT_EVENT_EXITED, .wait_status = 0});
	if (strcmp(how, "@immortal") == 0)
		(void)fake_tree_fork();
	while (strcmp(how, "@garbage") != 0 && strcmp(how, "@deadline") != 0 && strcmp(how, "@late") != 0 &&
		strcmp(how, "@silent") != 0)
		(void)pause();
	_exit(strcmp(how, "@silent") == 0 ? 9 : 0);
}

static _Noreturn void become_command(const struct plan *plan, int report)
{
	int sys_errno;

	(void)close(CONTROL_FD);
	(void)execvp(plan->argv[0], plan->argv);
	sys_errno = errno;
	(void)!write(report, &sys_errno, sizeof sys_errno);
	_exit(127);
}

/* Returns the command's pid, or -1 when the failure has been told. */
static pid_t start_command(int control, const struct start *start)
{
	struct init_event failure = {.kind = INIT_EVENT_EXEC_FAILED, .step = INIT_STEP_EXEC};
	int report[2];
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		_exit(93);
	pid = fake_tree_fork();
	if (pid == 0)
		become_command(start->plan, report[1]);
	(void)close(report[1]);
	for (int i = 0; i < 3; i++)
		(void)close(i);
	if (read(report[0], &failure.sys_errno, sizeof failure.sys_errno) <= 0)
		return pid;
	(void)strncpy(failure.text, start->plan->argv[0], sizeof failure.text - 1);
	say(control, failure);
	return -1;
}

static void take_request(int control)
{
	struct init_request request;

	if (recv(control, &request, sizeof request, MSG_DONTWAIT) != (ssize_t)sizeof request)
		return;
	if (request.kind == INIT_REQUEST_SIGNAL_ALL)
		(void)kill(-1, request.signo);
}

static void add_usage(struct init_event *event)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	event->cpu_user_ns = (uint64_t)usage.ru_utime.tv_sec * NS_PER_S + (uint64_t)usage.ru_utime.tv_usec * 1000;
	event->cpu_system_ns = (uint64_t)usage.ru_stime.tv_sec * NS_PER_S + (uint64_t)usage.ru_stime.tv_usec * 1000;
	event->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* As init does: the child's clock, before it is reaped. */
static pid_t reap_after_clock(pid_t main_pid, struct init_event *event)
{
	siginfo_t info = {0};
	struct timespec used = {0};

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return 0;
	if (info.si_pid == main_pid && clock_gettime((clockid_t)(~(unsigned)main_pid << 3), &used) == 0)
		event->main_limited_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
	return waitpid(info.si_pid, &event->wait_status, 0);
}

static void finish(int control)
{
	struct init_event event = {.kind = INIT_EVENT_FINISHED};

	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		event.survivors++;
	add_usage(&event);
	say(control, event);
}

static void keep_streams(int control, const struct start *start)
{
	for (int i = 0; i < 3; i++) {
		if (start->child[i] >= 0)
			(void)dup2(start->child[i], i);
	}
	(void)dup2(control, CONTROL_FD);
	(void)sys_close_range(CONTROL_FD + 1, ~0u, 0);
}

static void init_body(int inherited, void *userdata)
{
	const struct start *start = userdata;
	struct init_event exited = {.kind = INIT_EVENT_EXITED};
	const int control = CONTROL_FD;
	pid_t main_pid, pid;

	keep_streams(inherited, start);
	if (start->plan->argv[0][0] == '@')
		misbehave(control, start->plan->argv[0]);
	main_pid = start_command(control, start);
	if (main_pid < 0)
		return;
	say(control, (struct init_event){.kind = INIT_EVENT_STARTED});
	while ((pid = reap_after_clock(main_pid, &exited)) != main_pid) {
		take_request(control);
		if (pid == 0)
			(void)usleep(1000);
	}
	add_usage(&exited);
	say(control, exited);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	finish(control);
}

static void join_pipe(struct start *start, int i, int child_end)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	start->child[i] = ends[child_end];
	start->parent[i] = ends[1 - child_end];
	cr_assert_eq(fcntl(start->parent[i], F_SETFL, O_NONBLOCK), 0);
}

static void join_streams(const struct plan *plan, struct start *start)
{
	bool piped = plan->output == PLAN_OUTPUT_CAPTURE || plan->output == PLAN_OUTPUT_RELAY;

	*start = (struct start){plan, {-1, -1, -1}, {-1, -1, -1}};
	if (plan->stdin_mode == PLAN_STDIN_DATA)
		join_pipe(start, 0, 0);
	else
		start->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 1; i < 3 && piped; i++)
		join_pipe(start, i, 1);
}

int launch_start(const struct plan *plan, struct launched **ret_launched, struct error *err)
{
	struct launched *launched = calloc(1, sizeof *launched);
	struct start start;
	struct fake_tree tree;

	if (launched == NULL)
		return error_no_memory(err);
	join_streams(plan, &start);
	tree = fake_tree_start(init_body, &start);
	for (int i = 0; i < 3; i++)
		fd_close(start.child[i]);
	*launched = (struct launched){.pid = tree.pid,
		.pidfd = tree.pidfd,
		.host_uid = strcmp(plan->argv[0], "@immortal") == 0 ? IMMORTAL : 0,
		.control_fd = tree.control_fd,
		.stdin_fd = start.parent[0],
		.stdout_fd = start.parent[1],
		.stderr_fd = start.parent[2],
		.tty_fd = -1,
		.proc_fd = tree.proc_fd,
		.sysvipc_fd = tree.sysvipc_fd,
		.sysvipc_sem_fd = tree.sem_fd,
		.sysvipc_msg_fd = tree.msg_fd,
		.mountinfo_fd = -1,
		.mountinfo_check_fd = -1,
		.tmpfs_fds = {tree.tmpfs_fd},
		.n_tmpfs = 1,
		.started_ns = monotime_ns()};
	*ret_launched = launched;
	return 0;
}

void launched_kill(struct launched *launched)
{
	if (launched->pidfd >= 0 && launched->host_uid != IMMORTAL)
		(void)sys_pidfd_send_signal(launched->pidfd, SIGKILL);
}

void launched_request(struct launched *launched, const struct init_request *request)
{
	(void)send(launched->control_fd, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int launched_reap(struct launched *launched, int *ret_status, struct error *err)
{
	siginfo_t info = {0};

	if (waitid(P_PIDFD, (id_t)launched->pidfd, &info, WEXITED | __WALL) < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "waitid", "the fake init");
	cleanup_close_fd(&launched->pidfd);
	*ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return 0;
}

int launch_repair_mount(struct launched *launched, const struct mount_op *op, struct error *err)
{
	(void)launched;
	return error_set(err, ERROR_UNENFORCEABLE, "repair", "%s cannot be repaired here", op->target);
}

static void close_all(struct launched *launched)
{
	int *const fds[] = {&launched->control_fd, &launched->stdin_fd, &launched->stdout_fd, &launched->stderr_fd,
		&launched->proc_fd, &launched->sysvipc_fd, &launched->sysvipc_sem_fd, &launched->sysvipc_msg_fd,
		&launched->tmpfs_fds[0], &launched->pidfd};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		cleanup_close_fd(fds[i]);
}

struct launched *launched_free(struct launched *launched)
{
	if (launched == NULL)
		return NULL;
	if (launched->pidfd >= 0) {
		(void)sys_pidfd_send_signal(launched->pidfd, SIGKILL);
		(void)waitid(P_PIDFD, (id_t)launched->pidfd, &(siginfo_t){0}, WEXITED | __WALL);
	}
	close_all(launched);
	free(launched);
	return NULL;
}
