/*
 * The descendants of a process that is a subreaper: whatever they do, exit, double-fork, start sessions, they stay
 * below it, so its tree of children is all there is.
 *
 * The walk goes down from the root and signals each process before it looks at that one's children: a fork that has not
 * been finished when a signal arrives fails, so the children that are seen then are all that there will be. A child
 * whose parent dies during the walk moves up to the root, where the next pass finds it.
 *
 * Race: a pid may be used again as soon as its process is reaped. A process is signaled by a pidfd, and only after its
 * parent was read while that pidfd was held, and the parent was seen to be still the one that this walk came from: so
 * the signal reaches nobody else's process.
 *
 * Fallback: /proc/PID/task/TID/children needs CONFIG_PROC_CHILDREN. Without it the whole of proc is searched for each
 * parent, which a tree that forks fast outruns more easily.
 */
#include "runtime/launch/init_sweep.h"

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "runtime/launch/init_sys.h"

#define LEVELS_MAX  128 /* three descriptors each */
#define PATH_BYTES  64
#define STAT_BYTES  512
#define LIST_BYTES  512
#define NAME_BYTES  16
#define PID_DIGITS  10
#define ENTRY_BYTES 1024
#define FIELD_TASKS 17 /* of stat, counted from the state as 0 */

struct level {
	long pid;
	int pidfd;
	unsigned depth;
};

struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

struct seen {
	long parent;
	bool dead; /* a process of which the first thread alone has ended lives on */
	char name[NAME_BYTES + 1];
};

static size_t put_text(char *to, const char *text)
{
	size_t n = 0;

	for (; text[n] != '\0'; n++)
		to[n] = text[n];
	to[n] = '\0';
	return n;
}

static size_t put_number(char *to, long number)
{
	char digits[PID_DIGITS + 1];
	size_t at = PID_DIGITS;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0 && at > 0);
	return put_text(to, digits + at);
}

/* 0 where it is none. */
static long parse_pid(const char *text)
{
	long pid = 0;

	for (size_t i = 0; text[i] != '\0'; i++) {
		if (text[i] < '0' || text[i] > '9' || i == PID_DIGITS)
			return 0;
		pid = pid * 10 + (text[i] - '0');
	}
	return pid;
}

static int open_below(int fd, long pid, const char *name, int flags)
{
	char path[PATH_BYTES];
	size_t n = put_number(path, pid);

	(void)put_text(path + n, name);
	return (int)init_call(__NR_openat, fd, path, flags | O_CLOEXEC, 0);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)init_call(__NR_close, fd);
}

/* The number at a field behind the state, 0 where there is none. */
static long number_at(const char *text, long size, unsigned field)
{
	long at = 0, number = 0;

	for (; at < size && field > 0; at++)
		field -= text[at] == ' ';
	for (; at < size && text[at] >= '0' && text[at] <= '9'; at++)
		number = number * 10 + (text[at] - '0');
	return number;
}

/* "PID (NAME) STATE PARENT ...", where the name may hold anything. */
static bool parse_stat(const char *text, long size, struct seen *ret_seen)
{
	struct seen seen = {0};
	long open = 0, close = size - 1, state;

	while (open < size && text[open] != '(')
		open++;
	while (close > open && text[close] != ')')
		close--;
	if (close <= open || close + 4 >= size)
		return false;
	for (long i = 0; i < NAME_BYTES && open + 1 + i < close; i++) {
		char c = text[open + 1 + i];

		seen.name[i] = c > ' ' && c < 0x7f ? c : '?';
	}
	state = close + 2;
	seen.parent = number_at(text + state, size - state, 1);
	seen.dead = (text[state] == 'Z' || text[state] == 'X') && number_at(text + state, size - state, FIELD_TASKS) <= 1;
	*ret_seen = seen;
	return true;
}

static bool look(const struct init_sweep *sweep, long pid, struct seen *ret_seen)
{
	char text[STAT_BYTES];
	int fd = open_below(sweep->proc_fd, pid, "/stat", O_RDONLY);
	long n = fd < 0 ? -1 : init_call(__NR_read, fd, text, sizeof text);

	close_fd(fd);
	return n > 0 && parse_stat(text, n, ret_seen);
}

/* A process that is not the caller's to signal lives as well. */
static bool lives(int pidfd)
{
	return pidfd < 0 || init_call(__NR_pidfd_send_signal, pidfd, 0, 0, 0) != -ESRCH;
}

static bool is_child(const struct init_sweep *sweep, const struct level *parent, const struct seen *seen)
{
	if (seen->parent == sweep->root)
		return lives(sweep->root_pidfd);
	return seen->parent == parent->pid && lives(parent->pidfd);
}

static void add_name(struct init_sweep *sweep, const struct seen *seen, long pid)
{
	size_t at = 0;

	if (sweep->names == NULL)
		return;
	while (sweep->names[at] != '\0')
		at++;
	if (at + NAME_BYTES + PID_DIGITS + 6 > sweep->names_size)
		return;
	at += put_text(sweep->names + at, at > 0 ? ", " : "");
	at += put_text(sweep->names + at, seen->name);
	at += put_text(sweep->names + at, " (");
	at += put_number(sweep->names + at, pid);
	(void)put_text(sweep->names + at, ")");
}

static void walk(struct init_sweep *sweep, const struct level *level);

static void visit(struct init_sweep *sweep, const struct level *parent, long pid)
{
	struct level level = {pid, (int)init_call(__NR_pidfd_open, pid, 0), parent->depth + 1};
	struct seen seen;

	if (level.pidfd < 0)
		return;
	if (look(sweep, pid, &seen) && !seen.dead && is_child(sweep, parent, &seen)) {
		long r = init_call(__NR_pidfd_send_signal, level.pidfd, sweep->signo, 0, 0);

		if (r != -ESRCH) {
			sweep->living++;
			sweep->refused += r == -EPERM;
			add_name(sweep, &seen, pid);
		}
		if (level.depth < LEVELS_MAX)
			walk(sweep, &level);
	}
	close_fd(level.pidfd);
}

/* A list "PID PID ", of which a read may end within a number. */
static void walk_list(struct init_sweep *sweep, const struct level *level, int fd)
{
	char text[LIST_BYTES];
	long pid = 0;
	long n;

	while ((n = init_call(__NR_read, fd, text, sizeof text)) > 0) {
		for (long i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid > 0) {
				visit(sweep, level, pid);
				pid = 0;
			}
		}
	}
	if (pid > 0)
		visit(sweep, level, pid);
}

static void walk_thread(struct init_sweep *sweep, const struct level *level, int task_fd, long thread)
{
	int fd = open_below(task_fd, thread, "/children", O_RDONLY);

	if (fd >= 0)
		walk_list(sweep, level, fd);
	close_fd(fd);
}

static void walk_if_child(struct init_sweep *sweep, const struct level *level, long pid)
{
	struct seen seen;

	if (look(sweep, pid, &seen) && seen.parent == level->pid)
		visit(sweep, level, pid);
}

/* The threads of a process, or, where children are not listed, all processes. */
static void walk(struct init_sweep *sweep, const struct level *level)
{
	char entries[ENTRY_BYTES] __attribute__((aligned(8)));
	int fd = sweep->scan ? (int)init_call(__NR_openat, sweep->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
			     : open_below(sweep->proc_fd, level->pid, "/task", O_RDONLY | O_DIRECTORY);
	long n;

	while (fd >= 0 && (n = init_call(__NR_getdents64, fd, entries, sizeof entries)) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *entry = (const void *)(entries + at);
			long number = parse_pid(entry->name);

			if (number > 0 && sweep->scan)
				walk_if_child(sweep, level, number);
			else if (number > 0)
				walk_thread(sweep, level, fd, number);
			at += entry->size;
		}
	}
	close_fd(fd);
}

static bool lists_children(const struct init_sweep *sweep)
{
	int task_fd = open_below(sweep->proc_fd, sweep->root, "/task", O_RDONLY | O_DIRECTORY);
	int fd = task_fd < 0 ? -1 : open_below(task_fd, sweep->root, "/children", O_RDONLY);

	close_fd(fd);
	close_fd(task_fd);
	return fd >= 0;
}

void init_sweep(struct init_sweep *sweep)
{
	const struct level top = {sweep->root, sweep->root_pidfd, 0};

	sweep->living = sweep->refused = 0;
	if (sweep->names != NULL)
		sweep->names[0] = '\0';
	sweep->scan = sweep->scan || !lists_children(sweep);
	walk(sweep, &top);
}
