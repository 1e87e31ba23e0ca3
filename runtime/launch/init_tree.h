/* What init knows of its tree, and the two things it does with it: reaping, and telling the supervisor. */
#ifndef LAUNCH_INIT_TREE_H
#define LAUNCH_INIT_TREE_H

#include <stdbool.h>

#include "runtime/launch/init_message.h"

#define CLOCK_MONO    1
#define WAIT_NOHANG   1
#define NS_PER_SECOND 1000000000ull

struct timespec64 {
	int64_t seconds, nanos;
};

struct init_tree {
	const struct init_block *block;
	int signal_fd;
	int proc_fd; /* without a pid namespace */
	long main_pid;
	bool main_ended;
	int main_status;
	uint64_t main_limited_ns;
	uint64_t cpu_user_ns, cpu_system_ns, max_rss_bytes;
	uint32_t survivors, left;
	char left_names[200];
	bool childless;       /* the last wait said so */
	uint64_t progress_ns; /* when something was reaped last */
	bool supervisor_gone, deadline_passed, end_asked;
};

/* Of CLOCK_MONO, or another clock of clock_gettime(2). */
uint64_t init_clock_ns(long clock);
/* Reaps one child; false where there is none to be had. options: WAIT_NOHANG or 0. survivor: counts it as one. */
bool init_reap_one(struct init_tree *tree, int options, bool survivor);
void init_tell(const struct init_event *event);
/* Tells what is known of the tree. */
void init_report(const struct init_tree *tree, enum init_event_kind kind);

#endif
