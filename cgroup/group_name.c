/*
 * Names by which a dead maker's groups are known. A pid alone would not do, for pids come round again: the time at
 * which the process started, in ticks since boot, goes with it, and the pair does not repeat while the machine is up.
 *
 * The name is only half of the answer. A maker in another pid namespace cannot be seen from here and would look dead,
 * so it also holds a lock on its directory (group.c).
 *
 * Threat: anybody who may write to the base can make a directory of any name there. Names are parsed strictly, digit by
 * digit, and are only ever used as one component below the held base.
 */
#include "cgroup/group_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PREFIX       "pinfold-"
#define STAT_MAX     4096
#define START_FIELD  22
#define PID_MAX      INT32_MAX
#define DECIMAL_BASE 10u

/* A number without sign, space or leading zero, up to `end`; moves *at behind it. */
static bool parse_number(const char **at, char end, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *digit = *at;

	if (*digit == '0' && digit[1] != end)
		return false;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		uint64_t units = (uint64_t)(*digit - '0');

		if (value > (max - units) / DECIMAL_BASE)
			return false;
		value = value * DECIMAL_BASE + units;
	}
	if (digit == *at || *digit != end)
		return false;
	*at = digit + (end != '\0');
	*ret_value = value;
	return true;
}

bool group_parse_stat(const char *stat, char *ret_state, uint64_t *ret_ticks)
{
	/* Threat: the second field is the program's name in parentheses, chosen by the program: "a) S 1 (b". */
	const char *at = strrchr(stat, ')');

	if (at == NULL || at[1] != ' ' || at[2] == '\0')
		return false;
	*ret_state = at[2];
	for (int field = 2; at != NULL && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		if (at != NULL)
			at++;
	}
	return at != NULL && parse_number(&at, ' ', UINT64_MAX, ret_ticks);
}

/* 1 and the time; 0 where there is no such process (or none that may be seen); -1 with errno. */
static int read_stat(const char *path, char *ret_state, uint64_t *ret_ticks)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char stat[STAT_MAX];
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	n = read(fd, stat, sizeof stat - 1);
	if (n < 0)
		return errno == ESRCH ? 0 : -1;
	stat[n] = '\0';
	if (group_parse_stat(stat, ret_state, ret_ticks))
		return 1;
	errno = EBADMSG;
	return -1;
}

int group_maker_self(struct group_maker *ret_maker, struct error *err)
{
	struct group_maker maker = {.pid = getpid()};
	char state;
	int found = read_stat("/proc/self/stat", &state, &maker.start_time);

	if (found == 0)
		return error_set(err, ERROR_UNSUPPORTED, "open", "/proc/self/stat is missing: /proc is not mounted");
	if (found < 0)
		return error_set_errno(err, ERROR_IO, errno, "read", "cannot read /proc/self/stat");
	*ret_maker = maker;
	return 0;
}

bool group_maker_lives(struct group_maker maker)
{
	char path[64];
	char state;
	uint64_t ticks;
	int found;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)maker.pid);
	found = read_stat(path, &state, &ticks);
	if (found > 0)
		return ticks == maker.start_time && state != 'Z' && state != 'X';
	/* hidepid and a missing proc hide the living, too; the kernel still knows whether there is such a pid. */
	return found < 0 || kill(maker.pid, 0) == 0 || errno != ESRCH;
}

const char *group_name_format(struct group_maker maker, uint64_t n, char *buf, size_t size)
{
	(void)snprintf(buf, size, PREFIX "%d-%" PRIu64 "-%" PRIu64, (int)maker.pid, maker.start_time, n);
	return buf;
}

bool group_name_parse(const char *name, struct group_maker *ret_maker)
{
	const char *at = name + strlen(PREFIX);
	uint64_t pid;
	uint64_t start_time;
	uint64_t n;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !parse_number(&at, '-', PID_MAX, &pid) ||
		!parse_number(&at, '-', UINT64_MAX, &start_time) || !parse_number(&at, '\0', UINT64_MAX, &n))
		return false;
	if (pid == 0)
		return false;
	*ret_maker = (struct group_maker){.pid = (pid_t)pid, .start_time = start_time};
	return true;
}
