/*
 * pid 1 of a sandbox, or, without a boundary, the subreaper of a tree. A static program of a few pages, carried inside
 * the library and executed from a sealed memory file, so that nothing inside can rewrite it and nothing of the caller's
 * memory or environment is in it.
 *
 * It starts one command, reaps whatever becomes its child, passes signals on, and makes the end certain:
 *   - the command ends: everything else is killed and reaped, then init ends, and with it the namespace;
 *   - the supervisor ends (its pidfd says so; a pipe's end of file would be delayed by stray forks): the same, at once;
 *   - the deadline passes and the supervisor did nothing, because it was stopped: the same.
 * What the supervisor decides itself it carries out by SIGKILL to init: the kernel then kills the whole namespace.
 *
 * Threat: the command runs under the same uid. As pid 1 init is deaf to every signal from inside that it does not ask
 * for; it asks for SIGCHLD, and takes other signals only from outside the namespace (sender pid 0). It is not dumpable,
 * which closes ptrace, /proc/1/mem, fd, environ and pidfd_getfd; the filter closes prlimit, scheduling and priority.
 *
 * Without a pid namespace (the backend none) nothing of this holds: the command may kill or stop init as it may
 * anything of the caller's. The end is then a loop: the cgroup is killed where there is one, and all descendants are,
 * as often as some are found. kill(-1) would reach every process of the caller's and is never used there.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/signalfd.h>
#include <stdbool.h>

#include "runtime/launch/init_exec.h"
#include "runtime/launch/init_message.h"
#include "runtime/launch/init_sweep.h"
#include "runtime/launch/init_sys.h"
#include "runtime/launch/init_tree.h"

#define SIGNAL_KILL  9
#define SIGNAL_CHILD 17
#define DONTWAIT     0x40
#define NS_PER_MILLI 1000000ull
#define STAT_SIGNALS 16
#define PASS_NS      NS_PER_MILLI         /* between two passes, at least */
#define REFUSED_NS   (200 * NS_PER_MILLI) /* nothing is left but what is not ours to kill */
#define UNDYING_NS   (9 * NS_PER_SECOND)  /* killed and not dead: asleep in the kernel */

void init_main(void);

static void signal_command(const struct init_tree *tree, int signo)
{
	if (!tree->main_ended && signo > 0 && signo <= 64)
		(void)init_call(__NR_kill, tree->main_pid, signo);
}

static struct init_sweep sweep_of(const struct init_tree *tree, int signo)
{
	return (struct init_sweep){
		.proc_fd = tree->proc_fd, .root = init_call(__NR_getpid, 0), .root_pidfd = -1, .signo = signo};
}

static void signal_all(const struct init_tree *tree, int signo)
{
	struct init_sweep sweep = sweep_of(tree, signo);

	if (tree->block->subreaper != 0)
		init_sweep(&sweep);
	else
		(void)init_call(__NR_kill, -1, signo);
}

/* Without a pid namespace no sender can be told from another, and each may signal the command itself as well. */
static void take_signals(struct init_tree *tree)
{
	struct signalfd_siginfo info[STAT_SIGNALS];
	long n = init_call(__NR_read, tree->signal_fd, info, sizeof info);

	for (long i = 0; i < n / (long)sizeof info[0]; i++) {
		if (info[i].ssi_signo != SIGNAL_CHILD && (info[i].ssi_pid == 0 || tree->block->subreaper != 0))
			signal_command(tree, (int)info[i].ssi_signo);
	}
	while (!tree->main_ended && init_reap_one(tree, WAIT_NOHANG, false))
		;
}

static void take_request(struct init_tree *tree)
{
	struct init_request request;
	long n = init_call(__NR_recvfrom, INIT_FD_CONTROL, &request, sizeof request, DONTWAIT, 0, 0);

	if (n == 0) {
		tree->supervisor_gone = true; /* it closed its end: it has given the run up */
		return;
	}
	if (n != (long)sizeof request)
		return;
	if (request.kind == INIT_REQUEST_SIGNAL)
		signal_command(tree, request.signo);
	else if (request.kind == INIT_REQUEST_SIGNAL_ALL && request.signo > 0 && request.signo <= 64)
		signal_all(tree, request.signo);
	else if (request.kind == INIT_REQUEST_END)
		tree->end_asked = true;
}

/* How long to wait; NULL: for ever. Sets deadline_passed where there is nothing left. */
static struct timespec64 *until_deadline(struct init_tree *tree, struct timespec64 *left)
{
	uint64_t now_ns;

	if (tree->block->deadline_ns == 0)
		return NULL;
	now_ns = init_clock_ns(CLOCK_MONO);
	if (now_ns >= tree->block->deadline_ns) {
		tree->deadline_passed = true;
		now_ns = tree->block->deadline_ns;
	}
	left->seconds = (int64_t)((tree->block->deadline_ns - now_ns) / NS_PER_SECOND);
	left->nanos = (int64_t)((tree->block->deadline_ns - now_ns) % NS_PER_SECOND);
	return left;
}

static void watch(struct init_tree *tree)
{
	while (!tree->main_ended && !tree->supervisor_gone && !tree->deadline_passed && !tree->end_asked) {
		struct pollfd polls[] = {
			{tree->signal_fd, POLLIN, 0},
			{INIT_FD_CONTROL, POLLIN, 0},
			{INIT_FD_SUPERVISOR, POLLIN, 0},
		};
		struct timespec64 left;
		struct timespec64 *timeout = until_deadline(tree, &left);

		if (init_call(__NR_ppoll, polls, 3, timeout, 0, 8) <= 0)
			continue;
		if (polls[0].revents != 0)
			take_signals(tree);
		if (polls[1].revents != 0)
			take_request(tree);
		if (polls[2].revents != 0)
			tree->supervisor_gone = true;
	}
}

/* Reaches also who has become another user, and cannot be outrun. */
static void kill_group(const struct init_tree *tree)
{
	long fd = tree->block->group == 0 ? -1
					  : init_call(__NR_openat, INIT_FD_GROUP, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)init_call(__NR_write, fd, "1", 1);
	(void)init_call(__NR_close, fd);
}

static void wait_for_child(const struct init_tree *tree, uint64_t ns)
{
	struct pollfd ended = {tree->signal_fd, POLLIN, 0};
	struct timespec64 time = {0, (int64_t)ns};
	struct signalfd_siginfo info[STAT_SIGNALS];

	if (init_call(__NR_ppoll, &ended, 1, &time, 0, 8) > 0)
		(void)init_call(__NR_read, tree->signal_fd, info, sizeof info);
}

/* Reaps for a while, or until there is no child; whether there is none. */
static bool reap_for(struct init_tree *tree, uint64_t ns, bool survivors)
{
	uint64_t now_ns = init_clock_ns(CLOCK_MONO), until_ns = now_ns + ns;

	for (;;) {
		while (init_reap_one(tree, WAIT_NOHANG, survivors))
			tree->progress_ns = now_ns;
		if (tree->childless || now_ns >= until_ns)
			return tree->childless;
		wait_for_child(tree, until_ns - now_ns);
		now_ns = init_clock_ns(CLOCK_MONO);
	}
}

/* Until no descendant is left: whatever loses its parent becomes our child, so having none is the proof. Between two
 * passes there is as much time as one takes: those that are dying need the CPU too. */
static void end_descendants(struct init_tree *tree, bool survivors)
{
	struct init_sweep sweep = sweep_of(tree, SIGNAL_KILL);

	sweep.names = tree->left_names;
	sweep.names_size = sizeof tree->left_names;
	tree->progress_ns = init_clock_ns(CLOCK_MONO);
	kill_group(tree);
	for (;;) {
		uint64_t begin_ns = init_clock_ns(CLOCK_MONO), pass_ns, idle_ns;

		init_sweep(&sweep);
		pass_ns = init_clock_ns(CLOCK_MONO) - begin_ns;
		if (reap_for(tree, pass_ns > PASS_NS ? pass_ns : PASS_NS, survivors))
			break;
		idle_ns = init_clock_ns(CLOCK_MONO) - tree->progress_ns;
		if (idle_ns > UNDYING_NS || (idle_ns > REFUSED_NS && sweep.living > 0 && sweep.living == sweep.refused)) {
			tree->left = sweep.living;
			return;
		}
	}
	tree->left_names[0] = '\0';
}

static void end_namespace(struct init_tree *tree)
{
	(void)init_call(__NR_kill, -1, SIGNAL_KILL);
	while (init_reap_one(tree, 0, true))
		;
}

static void finish(struct init_tree *tree)
{
	bool by_itself = tree->main_ended && !tree->end_asked;

	if (by_itself)
		init_report(tree, INIT_EVENT_EXITED);
	while (init_reap_one(tree, WAIT_NOHANG, false)) /* what was dead already is no survivor */
		;
	if (tree->block->subreaper != 0)
		end_descendants(tree, by_itself);
	else
		end_namespace(tree);
	init_report(tree, INIT_EVENT_FINISHED);
}

static bool open_signals(struct init_tree *tree)
{
	uint64_t all = ~0ull;
	long fd;

	(void)init_call(__NR_rt_sigprocmask, 2, &all, 0, sizeof all);
	fd = init_call(__NR_signalfd4, -1, &all, sizeof all, O_CLOEXEC | O_NONBLOCK);
	tree->signal_fd = (int)fd;
	return fd >= 0;
}

/* SIGCHLD ignored by whoever started pinfold would make children vanish unreaped. */
static void default_child_signal(void)
{
	uint64_t action[4] = {0};

	(void)init_call(__NR_rt_sigaction, SIGNAL_CHILD, action, 0, sizeof(uint64_t));
}

static const struct init_block *map_block(void)
{
	long size = init_call(__NR_lseek, INIT_FD_BLOCK, 0, 2);
	long address;

	if (size < (long)sizeof(struct init_block))
		return NULL;
	address = init_call(__NR_mmap, 0, size, PROT_READ, MAP_PRIVATE, INIT_FD_BLOCK, 0);
	if (address < 0 && address > -4096)
		return NULL;
	(void)init_call(__NR_close, INIT_FD_BLOCK);
	return (const struct init_block *)address;
}

/* 0, or what the kernel said. */
static long become_subreaper(struct init_tree *tree)
{
	long r = init_call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

	if (r < 0)
		return r;
	r = init_call(__NR_open, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tree->proc_fd = (int)r;
	if (tree->block->group != 0)
		(void)init_call(__NR_fcntl, INIT_FD_GROUP, F_SETFD, FD_CLOEXEC);
	return r < 0 ? r : 0;
}

static long start_command(struct init_tree *tree, struct init_event *ret_failure)
{
	long r = tree->block->subreaper != 0 ? become_subreaper(tree) : 0;

	if (r < 0) {
		*ret_failure = (struct init_event){.kind = INIT_EVENT_EXEC_FAILED,
			.sys_errno = (int32_t)-r,
			.step = INIT_STEP_INIT,
			.text = "becoming the reaper of the tree"};
		return r;
	}
	return init_exec_command(tree->block, ret_failure);
}

static long run(struct init_tree *tree)
{
	struct init_event failure = {0};

	(void)init_call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)init_call(__NR_prctl, PR_SET_NAME, "pinfold-init", 0, 0, 0);
	(void)init_call(__NR_fcntl, INIT_FD_CONTROL, F_SETFD, FD_CLOEXEC);
	(void)init_call(__NR_fcntl, INIT_FD_SUPERVISOR, F_SETFD, FD_CLOEXEC);
	default_child_signal();
	tree->block = map_block();
	if (tree->block == NULL || !open_signals(tree))
		return 1;
	if (tree->block->landlock != 0)
		(void)init_call(__NR_fcntl, INIT_FD_RULESET, F_SETFD, FD_CLOEXEC);
	tree->main_pid = start_command(tree, &failure);
	if (tree->main_pid < 0) {
		init_tell(&failure);
		return 1;
	}
	for (int fd = 0; fd <= 2; fd++) /* or end of file on the command's output would wait for init */
		(void)init_call(__NR_close, fd);
	if (tree->block->landlock != 0)
		(void)init_call(__NR_close, INIT_FD_RULESET);
	init_report(tree, INIT_EVENT_STARTED);
	watch(tree);
	finish(tree);
	return 0;
}

/* The compiler may call these for copies and initializers; there is no C library to have them from. */
void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size);

void *memset(void *to, int value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)to)[i] = (unsigned char)value;
	return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)to)[i] = ((const unsigned char *)from)[i];
	return to;
}

void init_main(void)
{
	struct init_tree tree = {.signal_fd = -1, .proc_fd = -1};
	long status = run(&tree);

	for (;;)
		(void)init_call(__NR_exit_group, status);
}

/* The kernel enters with the stack pointer 16-aligned and nothing to return to; argc, argv and envp are not looked at. */
__asm__(".globl _start\n"
	"_start:\n"
	"xor %ebp, %ebp\n"
	"and $-16, %rsp\n"
	"call init_main\n"
	"hlt\n");
