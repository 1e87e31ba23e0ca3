/* The datagrams between init and supervisor, and the block from which init takes its orders. Fixed layout: init is
 * built without a C library. */
#ifndef LAUNCH_INIT_MESSAGE_H
#define LAUNCH_INIT_MESSAGE_H

#include <stdint.h>

enum init_event_kind {
	INIT_EVENT_STARTED = 1, /* the command's exec succeeded */
	INIT_EVENT_EXEC_FAILED, /* sys_errno, step; text names what the program needs, where that is the reason */
	INIT_EVENT_EXITED,      /* the main command ended: wait_status; its and its waited children's CPU time */
	INIT_EVENT_FINISHED     /* nothing is left but init: survivors killed, CPU times of all that was reaped */
};

enum init_exec_step {
	INIT_STEP_NONE,
	INIT_STEP_CHDIR,
	INIT_STEP_RLIMIT,
	INIT_STEP_FILTER,
	INIT_STEP_EXEC,
	INIT_STEP_FORK,
	INIT_STEP_TTY,
	INIT_STEP_LANDLOCK,
	INIT_STEP_INIT /* init itself could not be started */
};

/* What it was that could not be executed. */
enum init_need {
	INIT_NEED_NONE,        /* the program itself */
	INIT_NEED_INTERPRETER, /* of a script */
	INIT_NEED_LOADER       /* of a binary */
};

struct init_event {
	uint32_t kind;
	int32_t wait_status; /* as wait(2) gives it */
	int32_t sys_errno;
	uint32_t step;      /* enum init_exec_step */
	uint32_t survivors; /* FINISHED: processes still there when the command ended */
	uint32_t deadline;  /* FINISHED: 1 where init itself ended the tree at the deadline */
	uint32_t need;      /* EXEC_FAILED: enum init_need: what text is the name of */
	uint32_t left;      /* FINISHED, without a pid namespace: processes that could not be killed */
	uint64_t cpu_user_ns, cpu_system_ns;
	uint64_t max_rss_bytes;   /* of the largest process that was reaped */
	uint64_t main_limited_ns; /* EXITED: CPU time of the main command alone, as RLIMIT_CPU counts it */
	char text[200]; /* EXEC_FAILED: the path that was tried, or what it needs; FINISHED: names of those left */
};

enum init_request_kind {
	INIT_REQUEST_SIGNAL = 1, /* signo to the main command */
	INIT_REQUEST_SIGNAL_ALL, /* signo to every process but init */
	INIT_REQUEST_END,        /* without a pid namespace: end the tree, then init */
};

struct init_request {
	uint32_t kind;
	int32_t signo;
};

/* The block (a sealed memory file, mapped by init): header, then data; offsets are from its start, 0: none.
 * Lists of strings are NUL-terminated strings one behind the other, n of them. */
struct init_block {
	uint32_t size;
	uint32_t n_argv, argv;
	uint32_t n_environment, environment;
	uint32_t path;               /* PATH to search, a string */
	uint32_t directory;          /* to chdir to, a string */
	uint32_t n_filter, filter;   /* struct sock_filter[n] */
	uint32_t n_rlimits, rlimits; /* struct init_rlimit[n] */
	uint32_t tty;                /* 1: stdin is a terminal to become the controlling one */
	uint32_t umask;
	uint32_t landlock;    /* 1: INIT_FD_RULESET is there, for the command to be fenced in by */
	uint32_t subreaper;   /* 1: there is no pid namespace; the tree is what descends from init */
	uint32_t group;       /* 1: the command belongs into the cgroup INIT_FD_GROUP, and init does not */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC after which init ends the tree by itself; 0: none */
};

struct init_rlimit {
	int32_t resource;
	uint32_t unused;
	uint64_t soft, hard;
};

/* Descriptors init finds open, and nothing else. */
enum {
	INIT_FD_CONTROL = 3,
	INIT_FD_BLOCK = 4,
	INIT_FD_SUPERVISOR = 5,
	INIT_FD_RULESET = 6,
	INIT_FD_GROUP = 7 /* these two where the block says so */
};

#endif
