/*
 * Threat: one forgotten descriptor of the caller's, however high its number, is a hole in every wall.
 * Fallback: where an outer filter refuses close_range, the open ones are read from /proc/self/fd, raw, since opendir()
 * allocates; where that cannot be read either, it is an error and nothing is run.
 */
#include "runtime/launch/close_from.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* -1 for "." and ".." */
static int parse_fd(const char *name)
{
	int fd = 0;

	for (; *name != '\0'; name++) {
		if (*name < '0' || *name > '9' || fd > (INT32_MAX - 9) / 10)
			return -1;
		fd = fd * 10 + (*name - '0');
	}
	return fd;
}

/* Closes those of one batch; *ret_closed tells whether the listing must be begun anew. */
static long close_batch(int directory, int first, bool *ret_closed)
{
	_Alignas(struct entry) char buffer[4096];
	long n = syscall(SYS_getdents64, directory, buffer, sizeof buffer);

	for (long at = 0; at < n;) {
		const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
		int fd = parse_fd(entry->name);

		if (fd >= first && fd != directory) {
			(void)close(fd);
			*ret_closed = true;
		}
		at += entry->size;
	}
	return n;
}

static int close_listed(int first)
{
	cleanup_close int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool closed;

	if (directory < 0)
		return -1;
	do {
		long n;

		closed = false;
		if (lseek(directory, 0, SEEK_SET) < 0)
			return -1;
		do
			n = close_batch(directory, first, &closed);
		while (n > 0);
		if (n < 0)
			return -1;
	} while (closed);
	return 0;
}

int close_from(int first)
{
	if (sys_close_range((unsigned)first, ~0u, 0) == 0)
		return 0;
	return close_listed(first);
}
