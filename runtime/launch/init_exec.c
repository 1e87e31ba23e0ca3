/*
 * From init to the command: a vfork child takes a session of its own, default signals, the limits, the Landlock fence
 * and the filter, and executes. Memory is shared with init until then, so a failing step is simply written down for init to read.
 *
 * Order: the terminal before anything can fail visibly; the working directory before the limits (a small RLIMIT_FSIZE or
 * RLIMIT_NOFILE must not get in the way of setting up); the filter last, because it forbids what setting up needs. Behind
 * it stands execve alone: where the command is in PATH was looked up before, and why it cannot be executed is found out
 * by init, when the child is gone. Even exit may be refused by the filter.
 *
 * Threat: the working directory may be a path that leads out of the new root (a descriptor of the host's that survived).
 * None does survive, and still the kernel's own view of the path is checked: outside the root it is "(unreachable)".
 */
#include "runtime/launch/init_exec.h"

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>

#include "runtime/launch/init_need.h"
#include "runtime/launch/init_sys.h"

#define TIOCSCTTY_REQUEST 0x540e
#define PATH_BYTES        4096
#define STRINGS_MAX       65536
#define LAST_SIGNAL       64
#define SIGNAL_KILL       9
#define SIGNAL_CHILD      17
#define PLACES_MAX        1024
#define ACCESS_EXISTS     0
#define ACCESS_EXECUTE    1

struct sock_filter_program {
	uint16_t n;
	const void *instructions;
};

struct start {
	const struct init_block *block;
	char **argv;
	char **environment;
	struct init_event *failure;
	const char *tried;      /* what execve was given last; NULL where it was given nothing */
	char place[PATH_BYTES]; /* an element of PATH joined with the name */
	bool holds[PLACES_MAX]; /* whether the element holds the name, of as many as were looked at */
	size_t n_looked;
};

static const char *at(const struct init_block *block, uint32_t offset)
{
	return (const char *)block + offset;
}

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n] != '\0')
		n++;
	return n;
}

static void copy_text(char *to, size_t size, const char *from)
{
	size_t i = 0;

	for (; i + 1 < size && from[i] != '\0'; i++)
		to[i] = from[i];
	to[i] = '\0';
}

static void list_strings(const char *strings, uint32_t n, char **list)
{
	for (uint32_t i = 0; i < n; i++) {
		list[i] = (char *)strings;
		strings += length(strings) + 1;
	}
	list[n] = NULL;
}

static bool check(const struct start *start, long result, enum init_exec_step step, const char *text)
{
	if (result >= 0)
		return true;
	start->failure->sys_errno = (int32_t)-result;
	start->failure->step = step;
	copy_text(start->failure->text, sizeof start->failure->text, text);
	return false;
}

static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} default_action = {0};
	uint64_t none = 0;

	for (int signo = 1; signo <= LAST_SIGNAL; signo++)
		(void)init_call(__NR_rt_sigaction, signo, &default_action, 0, sizeof none);
	(void)init_call(__NR_rt_sigprocmask, 2, &none, 0, sizeof none);
}

static bool enter_directory(const struct start *start)
{
	const char *directory = at(start->block, start->block->directory);
	char seen[PATH_BYTES];
	long r = init_call(__NR_chdir, directory);

	if (!check(start, r, INIT_STEP_CHDIR, directory))
		return false;
	r = init_call(__NR_getcwd, seen, sizeof seen);
	if (r > 0 && seen[0] != '/')
		r = -EXDEV;
	return check(start, r, INIT_STEP_CHDIR, directory);
}

static bool set_limits(const struct start *start)
{
	const struct init_rlimit *limits = (const struct init_rlimit *)at(start->block, start->block->rlimits);

	for (uint32_t i = 0; i < start->block->n_rlimits; i++) {
		uint64_t value[2] = {limits[i].soft, limits[i].hard};
		long r = init_call(__NR_prlimit64, 0, limits[i].resource, value, 0);

		if (!check(start, r, INIT_STEP_RLIMIT, "resource limit"))
			return false;
	}
	return true;
}

/* Init stays outside: to the command it is then one of those that no signal and no ptrace of its can reach. */
static bool fence_in(const struct start *start)
{
	if (start->block->landlock == 0)
		return true;
	return check(start, init_call(__NR_landlock_restrict_self, INIT_FD_RULESET, 0), INIT_STEP_LANDLOCK,
		"landlock_restrict_self");
}

static bool load_filter(const struct start *start)
{
	struct sock_filter_program program = {(uint16_t)start->block->n_filter, at(start->block, start->block->filter)};

	if (start->block->n_filter == 0)
		return true;
	return check(start, init_call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), INIT_STEP_FILTER,
		"seccomp filter");
}

static void try_exec(struct start *start, const char *path)
{
	start->tried = path;
	start->failure->sys_errno = 0; /* of an earlier candidate: execve does not return where it succeeds */
	(void)check(start, init_call(__NR_execve, path, start->argv, start->environment), INIT_STEP_EXEC, path);
}

/* The next element of a PATH, joined with name; false at the end. Elements that are too long are as if absent. */
static bool next_candidate(const char **path, const char *name, char *joined)
{
	const char *element = *path;
	size_t size = 0;
	size_t name_size = length(name);

	if (element == NULL)
		return false;
	while (element[size] != '\0' && element[size] != ':')
		size++;
	*path = element[size] == ':' ? element + size + 1 : NULL;
	joined[0] = '\0';
	if (size + 1 + name_size + 1 > PATH_BYTES)
		return true;
	for (size_t i = 0; i < size; i++)
		joined[i] = element[i];
	if (size > 0)
		joined[size++] = '/';
	copy_text(joined + size, PATH_BYTES - size, name);
	return true;
}

static bool is_absence(long r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ENAMETOOLONG || r == -ESTALE || r == -ELOOP;
}

/* Up to the first that seems executable. An element that cannot be entered holds nothing, as far as the command is concerned. */
static void look_around(struct start *start, const char *name)
{
	const char *path = at(start->block, start->block->path);

	while (start->n_looked < PLACES_MAX && next_candidate(&path, name, start->place)) {
		long r = start->place[0] == '\0' ? -ENAMETOOLONG : init_call(__NR_access, start->place, ACCESS_EXISTS);

		start->holds[start->n_looked++] = !is_absence(r) && r != -EACCES;
		if (r == 0 && init_call(__NR_access, start->place, ACCESS_EXECUTE) == 0)
			return;
	}
}

static void search_and_exec(struct start *start, const char *name)
{
	const char *path = at(start->block, start->block->path);
	struct init_event denied = {0};

	for (size_t i = 0; next_candidate(&path, name, start->place); i++) {
		bool known = i < start->n_looked;

		if (start->place[0] == '\0' || (known && !start->holds[i]))
			continue;
		try_exec(start, start->place);
		if (start->failure->sys_errno == EACCES)
			denied = *start->failure;
		else if (known || !is_absence(-(long)start->failure->sys_errno))
			return; /* it is there and cannot be executed: that is the answer */
	}
	start->tried = NULL;
	if (denied.sys_errno != 0) {
		*start->failure = denied;
		start->tried = start->failure->text;
		return;
	}
	(void)check(start, -ENOENT, INIT_STEP_EXEC, name);
}

static bool has_slash(const char *s)
{
	while (*s != '\0' && *s != '/')
		s++;
	return *s == '/';
}

static void become_command(struct start *start)
{
	const char *name = start->argv[0];

	(void)init_call(__NR_setsid, 0);
	/* Without a pid namespace init's end alone would end nothing. It goes before the filter and is no promise. */
	if (start->block->subreaper != 0)
		(void)init_call(__NR_prctl, PR_SET_PDEATHSIG, SIGNAL_KILL, 0, 0, 0);
	if (start->block->tty != 0 &&
		!check(start, init_call(__NR_ioctl, 0, TIOCSCTTY_REQUEST, 0), INIT_STEP_TTY, "terminal"))
		return;
	reset_signals();
	(void)init_call(__NR_umask, start->block->umask);
	if (!enter_directory(start))
		return;
	if (!has_slash(name))
		look_around(start, name);
	if (!set_limits(start) || !fence_in(start) || !load_filter(start))
		return;
	if (has_slash(name))
		(void)try_exec(start, name);
	else
		search_and_exec(start, name);
}

/* A vfork, into the command's cgroup where there is one. */
static inline __attribute__((always_inline)) long borrow_child(const struct init_block *block)
{
	struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
		.exit_signal = SIGNAL_CHILD,
		.cgroup = INIT_FD_GROUP};

	return block->group == 0 ? init_call(__NR_vfork, 0) : init_call(__NR_clone3, &args, sizeof args);
}

/* Never returns in the child, and is never inlined: the child runs on its parent's stack, below this frame. */
static __attribute__((noinline)) long vfork_and_become(struct start *start)
{
	long pid = borrow_child(start->block);

	if (pid != 0)
		return pid;
	become_command(start);
	(void)init_call(__NR_exit, 127);
	__builtin_trap(); /* a filter that refuses to exit, too: no filter can refuse this */
}

/* What the file itself is no reason for is told by the name of what it needs. In init, which no filter holds. */
static void name_need(const struct start *start)
{
	struct init_event *failure = start->failure;
	char needed[sizeof failure->text];
	long directory = init_call(__NR_open, at(start->block, start->block->directory), O_PATH | O_CLOEXEC, 0);

	if (directory < 0)
		return;
	failure->need = init_need_of((int)directory, start->tried, failure->sys_errno, needed, sizeof needed);
	(void)init_call(__NR_close, directory);
	if (failure->need != INIT_NEED_NONE)
		copy_text(failure->text, sizeof failure->text, needed);
}

long init_exec_command(const struct init_block *block, struct init_event *ret_failure)
{
	/* Static: too large for a stack; init has one thread and starts one command. */
	static char *argv[STRINGS_MAX + 1];
	static char *environment[STRINGS_MAX + 1];
	static struct start start;
	long pid;
	int status;

	start = (struct start){block, argv, environment, ret_failure, NULL, "", {false}, 0};
	ret_failure->kind = INIT_EVENT_EXEC_FAILED;
	if (block->n_argv == 0) {
		(void)check(&start, -EINVAL, INIT_STEP_EXEC, "no command");
		return -EINVAL;
	}
	if (block->n_argv > STRINGS_MAX || block->n_environment > STRINGS_MAX) {
		(void)check(&start, -E2BIG, INIT_STEP_EXEC, "too many arguments");
		return -E2BIG;
	}
	list_strings(at(block, block->argv), block->n_argv, argv);
	list_strings(at(block, block->environment), block->n_environment, environment);
	pid = vfork_and_become(&start);
	if (pid < 0) {
		(void)check(&start, pid, INIT_STEP_FORK, "fork");
		return pid;
	}
	if (ret_failure->sys_errno == 0)
		return pid;
	(void)init_call(__NR_wait4, pid, &status, 0, 0);
	if (ret_failure->step == INIT_STEP_EXEC && start.tried != NULL)
		name_need(&start);
	return -ret_failure->sys_errno;
}
