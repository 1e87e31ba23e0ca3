/*
 * Counting, telling and ending. The descriptors are only polled and never read: several threads, and the caller's own
 * loop, may look at the same one, and what makes it readable stays there for all of them.
 */
#include "runtime/workspace/work.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"

#define ASK_EVERY   ((uint64_t)1 << 20)  /* bytes */
#define FILE_WEIGHT ((uint64_t)64 << 10) /* to make one is as much work as to copy so many bytes */

size_t work_poll_fds(const struct work *work, struct pollfd fds[WORK_FDS_MAX])
{
	size_t n = 0;

	if (work->cancel_fd >= 0)
		fds[n++] = (struct pollfd){.fd = work->cancel_fd, .events = POLLIN};
	if (work->stop_fd >= 0)
		fds[n++] = (struct pollfd){.fd = work->stop_fd, .events = POLLIN};
	return n;
}

int work_check(struct work *work, struct error *err)
{
	struct pollfd fds[WORK_FDS_MAX];
	size_t n = work_poll_fds(work, fds);
	int ready;

	if (n == 0)
		return 0;
	do {
		ready = poll(fds, n, 0);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return error_set_errno(err, ERROR_INTERNAL, errno, "poll", "cannot look for a cancellation");
	return ready > 0 ? error_set(err, ERROR_CANCELLED, "work", "cancelled") : 0;
}

static int refuse(const char *name, uint64_t most, uint64_t actual, const char *what, struct error *err)
{
	char shown[200], number[24];

	(void)error_set(err, ERROR_LIMIT, name, "%s: more than %llu %s", str_printable(what, shown, sizeof shown),
		(unsigned long long)most, name);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)most);
	error_add_context(err, "limit", number);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)actual);
	error_add_context(err, "actual", number);
	return -1;
}

int work_refuse_bytes(const struct work *work, uint64_t actual, const char *what, struct error *err)
{
	return refuse("bytes", work->bytes_max, actual, what, err);
}

/* A thread that finds another one telling leaves it to that one's next time. */
static void tell(struct work *work, uint64_t files, uint64_t bytes)
{
	if (work->tell == NULL || atomic_flag_test_and_set(&work->telling))
		return;
	work->tell(work->context, files, bytes);
	atomic_flag_clear(&work->telling);
}

int work_count(struct work *work, uint64_t files, uint64_t bytes, const char *what, struct error *err)
{
	uint64_t all_files = atomic_fetch_add(&work->files, files) + files;
	uint64_t all_bytes = atomic_fetch_add(&work->bytes, bytes) + bytes;

	if (all_files > work->files_max)
		return refuse("files and directories", work->files_max, all_files, what, err);
	if (all_bytes > work->bytes_max)
		return refuse("bytes", work->bytes_max, all_bytes, what, err);
	tell(work, all_files, all_bytes);
	if (atomic_fetch_add(&work->unasked, files * FILE_WEIGHT + bytes) < ASK_EVERY)
		return 0;
	atomic_store(&work->unasked, 0);
	return work_check(work, err);
}
