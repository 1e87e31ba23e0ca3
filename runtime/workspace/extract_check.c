/*
 * The helper is dead, its tree lies still. Whatever it may have become while it lived, what it has left is looked at as
 * if nobody had judged it: only files, directories and, where they were asked for, links that stay inside; with the
 * caller as owner, modes that the rules can give, one name for each file; no more of them, and no more bytes, than the
 * limits say; and just as many as it said itself. Of its own directory it may have changed the mode, of names it may
 * have made what no archive may have.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/tree.h"
#include "runtime/workspace/archive/rules.h"
#include "runtime/workspace/extract_parts.h"
#include "runtime/workspace/link_inside.h"

struct found {
	const struct extract_options *options;
	uint64_t files, directories, links, bytes;
};

static int odd(const struct tree_entry *entry, const char *what, struct error *err)
{
	char shown[200];

	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive", "the archive's reader has left %s: %s", what,
		str_printable(entry->path, shown, sizeof shown));
}

static int check_link(struct found *found, const struct tree_entry *entry, struct error *err)
{
	char target[MEMBER_NAME_MAX];
	ssize_t n = readlinkat(entry->dirfd, entry->name, target, sizeof target);

	if (!found->options->links_inside || n < 0 || (size_t)n >= sizeof target)
		return odd(entry, "a link", err);
	target[n] = '\0';
	found->links++;
	return link_stays_inside(entry->path, target) ? 0 : odd(entry, "a link that leads outside", err);
}

/* A backslash, a drive letter: what the reader refuses, as long as it is itself. */
static int check_name(const struct tree_entry *entry, struct error *err)
{
	struct member_name name;

	if (rules_judge_name(entry->path, 0, &name, err) < 0)
		return error_prefix(err, "the archive's reader has made");
	return 0;
}

static int check_entry(void *context, const struct tree_entry *entry, struct error *err)
{
	struct found *found = context;
	const struct stat *status = entry->status;
	mode_t mode = status->st_mode & 07777;

	if (check_name(entry, err) < 0)
		return -1;
	if (status->st_uid != geteuid())
		return odd(entry, "something of another owner", err);
	if (S_ISLNK(status->st_mode))
		return check_link(found, entry, err) < 0 ? -1 : TREE_PASS_OVER;
	if (S_ISDIR(status->st_mode)) {
		found->directories++;
		return mode == rules_directory_mode(mode) ? TREE_GO_ON : odd(entry, "a directory of a wrong mode", err);
	}
	if (!S_ISREG(status->st_mode) || status->st_nlink != 1)
		return odd(entry, "what is neither a file nor a directory", err);
	if (mode != rules_file_mode(mode))
		return odd(entry, "a file of a wrong mode", err);
	found->files++;
	found->bytes += (uint64_t)status->st_size;
	if (found->bytes > found->options->extracted_max || (uint64_t)status->st_size > INT64_MAX)
		return odd(entry, "more bytes than are allowed", err);
	return TREE_PASS_OVER;
}

/* The new directory itself: as it was made for the reader, whom it belonged to meanwhile. */
static int check_root(int tree_fd, struct error *err)
{
	struct stat status;

	if (fstat(tree_fd, &status) < 0)
		return error_set_errno(err, ERROR_IO, errno, "archive", "cannot look at the new directory");
	if (status.st_uid == geteuid() && (status.st_mode & 07777) == STAGING_TREE_MODE)
		return 0;
	return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive",
		"the archive's reader has changed the new directory itself: owner %u, mode %04o",
		(unsigned)status.st_uid, (unsigned)(status.st_mode & 07777));
}

int extract_check(int tree_fd, const struct extract_options *options, const struct extract_totals *said, struct error *err)
{
	struct found found = {.options = options};
	struct tree_budget budget = {.entries_max = options->members_max, .depth_max = MEMBER_DEPTH_MAX};
	const struct tree_visitor visitor = {.visit = check_entry, .ctx = &found};

	if (check_root(tree_fd, err) < 0)
		return -1;
	if (tree_walk(tree_fd, &budget, &visitor, err) < 0) {
		if (err->code != ERROR_NO_MEMORY)
			err->code = ERROR_WORKSPACE_ARCHIVE_WRITE;
		return error_prefix(err, "what was extracted");
	}
	if (found.files != said->files || found.directories != said->directories || found.links != said->links ||
		found.bytes != said->bytes)
		return error_set(err, ERROR_WORKSPACE_ARCHIVE_WRITE, "archive",
			"the archive's reader says that it made %llu files, %llu directories and %llu links, and there are "
			"%llu, %llu and %llu",
			(unsigned long long)said->files, (unsigned long long)said->directories,
			(unsigned long long)said->links, (unsigned long long)found.files,
			(unsigned long long)found.directories, (unsigned long long)found.links);
	return 0;
}
