/*
 * The limits of a process hold for each of its files, and none holds for all of them together. So the tree that it
 * writes is gone through now and then while it runs.
 *
 * Threat: it may be hidden how much there is. A hole is no byte, and a file that is longer than what it holds counts
 * for what it holds; a directory that cannot be gone into is an end, too. What is renamed under the look is met the
 * next time.
 */
#include "runtime/workspace/quota.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/tree.h"

#define BLOCK_BYTES 512

struct look {
	const struct quota *quota;
	uint64_t bytes;
};

static int refuse(const struct look *look, const char *path, struct error *err)
{
	char shown[200], number[24];

	(void)error_set(err, ERROR_LIMIT, "watch", "\"%s\": more than %llu bytes are written in all",
		str_printable(path, shown, sizeof shown), (unsigned long long)look->quota->bytes_max);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)look->quota->bytes_max);
	error_add_context(err, "most", number);
	(void)snprintf(number, sizeof number, "%llu", (unsigned long long)look->bytes);
	error_add_context(err, "actual", number);
	return -1;
}

static int count(void *context, const struct tree_entry *entry, struct error *err)
{
	struct look *look = context;
	uint64_t length = (uint64_t)entry->status->st_size, held = (uint64_t)entry->status->st_blocks * BLOCK_BYTES;

	if (!S_ISREG(entry->status->st_mode))
		return TREE_GO_ON;
	look->bytes += length < held ? length : held;
	return look->bytes <= look->quota->bytes_max ? TREE_PASS_OVER : refuse(look, entry->path, err);
}

int quota_watch(void *quota, struct error *err)
{
	struct look look = {.quota = quota};
	struct tree_budget budget = {.entries_max = look.quota->entries_max, .depth_max = look.quota->depth_max};
	const struct tree_visitor visitor = {.visit = count, .ctx = &look};
	struct error found = {0};

	if (tree_walk(look.quota->dirfd, &budget, &visitor, &found) == 0)
		return 0;
	if (found.code == ERROR_LOCAL_DIR_READ && found.sys_errno != EACCES && found.sys_errno != EPERM)
		return 0; /* it has changed meanwhile */
	*err = found;
	if (found.code == ERROR_LOCAL_DIR_READ)
		err->code = ERROR_WORKSPACE_ARCHIVE_WRITE;
	return error_prefix(err, "%s", look.quota->what);
}
