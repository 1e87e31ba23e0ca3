#include "runtime/launch/init_tree.h"

#include <asm/unistd.h>
#include <linux/errno.h>

#include "runtime/launch/init_sys.h"

#define WAIT_EXITED  4
#define WAIT_ANY     0          /* P_ALL */
#define WAIT_LEAVE   0x01000000 /* WNOWAIT */
#define NOSIGNAL     0x4000
#define NS_PER_MICRO 1000ull

struct usage {
	int64_t user_seconds, user_micros, system_seconds, system_micros;
	int64_t max_rss_kib;
	int64_t rest[13];
};

/* siginfo_t of a child that ended. */
struct child_info {
	int32_t signo, code, sys_errno, unused;
	int32_t pid;
	int32_t rest[27];
};

static void count_usage(struct init_tree *tree, const struct usage *usage)
{
	uint64_t rss = (uint64_t)usage->max_rss_kib * 1024;

	tree->cpu_user_ns += (uint64_t)usage->user_seconds * NS_PER_SECOND + (uint64_t)usage->user_micros * NS_PER_MICRO;
	tree->cpu_system_ns +=
		(uint64_t)usage->system_seconds * NS_PER_SECOND + (uint64_t)usage->system_micros * NS_PER_MICRO;
	if (rss > tree->max_rss_bytes)
		tree->max_rss_bytes = rss;
}

void init_tell(const struct init_event *event)
{
	(void)init_call(__NR_sendto, INIT_FD_CONTROL, event, sizeof *event, NOSIGNAL, 0, 0);
}

void init_report(const struct init_tree *tree, enum init_event_kind kind)
{
	struct init_event event = {
		.kind = kind,
		.wait_status = tree->main_status,
		.survivors = tree->survivors,
		.left = tree->left,
		.deadline = tree->deadline_passed,
		.cpu_user_ns = tree->cpu_user_ns,
		.cpu_system_ns = tree->cpu_system_ns,
		.max_rss_bytes = tree->max_rss_bytes,
		.main_limited_ns = tree->main_limited_ns,
	};

	for (size_t i = 0; i < sizeof tree->left_names; i++)
		event.text[i] = tree->left_names[i];
	init_tell(&event);
}

uint64_t init_clock_ns(long clock)
{
	struct timespec64 now = {0};

	(void)init_call(__NR_clock_gettime, clock, &now);
	return (uint64_t)now.seconds * NS_PER_SECOND + (uint64_t)now.nanos;
}

/* A child's end, the child not reaped yet: its pid, as wait4 returns it. */
static long find_ended(int options)
{
	struct child_info info = {0};
	long r;

	do
		r = init_call(__NR_waitid, WAIT_ANY, 0, &info, options | WAIT_EXITED | WAIT_LEAVE, 0);
	while (r == -EINTR);
	return r < 0 ? r : info.pid;
}

/* What RLIMIT_CPU is compared with: the ticks in which the process was met. What wait4 tells of it, the time that it
 * really ran, can be a quarter less on a busy machine. There is a clock of it until the process is reaped; as
 * linux/posix-timers.h numbers them, this is CPUCLOCK_PROF of a whole process. */
static void read_limited_time(struct init_tree *tree)
{
	tree->main_limited_ns = init_clock_ns((long)(~(unsigned long)tree->main_pid << 3));
}

bool init_reap_one(struct init_tree *tree, int options, bool survivor)
{
	struct usage usage = {0};
	int status = 0;
	long pid = find_ended(options);

	if (pid > 0 && pid == tree->main_pid)
		read_limited_time(tree);
	if (pid > 0)
		pid = init_call(__NR_wait4, pid, &status, 0, &usage);
	tree->childless = pid == -ECHILD;
	if (pid <= 0)
		return false;
	count_usage(tree, &usage);
	if (pid == tree->main_pid) {
		tree->main_ended = true;
		tree->main_status = status;
	} else if (survivor) {
		tree->survivors++;
	}
	return true;
}
